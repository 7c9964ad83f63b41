// The timeline as a Perfetto trace: the messages of crates/trace/src/perfetto/messages.rs, written by hand.

(() => {
  "use strict";

  const SEQUENCE = 1;
  const STATE_CLEARED = 1;
  const NEEDS_STATE = 2;
  const ORDER_EXPLICIT = 3;
  const BEGIN = 1;
  const END = 2;
  const INSTANT = 3;
  /** Numbers of threads begin here, so that none is that of a process. */
  const FIRST_TID = 1_000_000;
  /** The process of tasks whose role is not known. */
  const UNKNOWN_PID = FIRST_TID - 1;

  /** Kinds of tracks; a track's number is the kind times 2^40 and its place among its kind. */
  const CPUS = 1, CPU = 2, ROLE = 3, TASK = 4, THROTTLED = 5;
  const uuid = (kind, number = 0) => kind * 2 ** 40 + number;

  /** Protobuf, into one growing array. */
  class Writer {
    constructor() {
      this.bytes = new Uint8Array(1 << 16);
      this.length = 0;
      this.text = new TextEncoder();
    }

    room(more) {
      if (this.length + more <= this.bytes.length) return;
      const grown = new Uint8Array(Math.max(this.bytes.length * 2, this.length + more));
      grown.set(this.bytes.subarray(0, this.length));
      this.bytes = grown;
    }

    varint(value) {
      this.room(10);
      while (value > 127) {
        this.bytes[this.length++] = (value % 128) | 128;
        value = Math.floor(value / 128);
      }
      this.bytes[this.length++] = value;
    }

    number(field, value) {
      this.varint(field * 8);
      this.varint(value);
    }

    fixed64(field, value) {
      this.varint(field * 8 + 1);
      this.room(8);
      new DataView(this.bytes.buffer).setBigUint64(this.length, BigInt(value), true);
      this.length += 8;
    }

    put(field, bytes) {
      this.varint(field * 8 + 2);
      this.varint(bytes.length);
      this.append(bytes);
    }

    append(bytes) {
      this.room(bytes.length);
      this.bytes.set(bytes, this.length);
      this.length += bytes.length;
    }

    string(field, text) {
      this.put(field, this.text.encode(text));
    }

    /** A message within. Its length is written last, in one byte unless it needs more. */
    message(field, write) {
      this.varint(field * 8 + 2);
      this.room(1);
      const begin = ++this.length;
      write(this);
      const length = this.length - begin;
      if (length < 128) {
        this.bytes[begin - 1] = length;
        return;
      }
      const content = this.bytes.slice(begin, this.length);
      this.length = begin - 1;
      this.varint(length);
      this.append(content);
    }

    done() {
      return this.bytes.slice(0, this.length);
    }
  }

  function packet(trace, write) {
    trace.message(1, (packet) => {
      packet.number(10, SEQUENCE);
      write(packet);
    });
  }

  function declare(trace, write) {
    packet(trace, (packet) => packet.message(60, write));
  }

  /** Tasks are named by number, 1 more than their place; the names of what they do come after. */
  function internNames(trace, data) {
    const intern = (interned, iid, name) =>
      interned.message(2, (entry) => {
        entry.number(1, iid);
        entry.string(2, name);
      });
    packet(trace, (packet) => {
      packet.number(13, STATE_CLEARED);
      packet.message(12, (interned) => {
        data.tasks.forEach((task, i) => intern(interned, i + 1, task.label));
        data.lanes.forEach((_, cpu) => intern(interned, data.tasks.length + 1 + cpu, `CPU ${cpu}`));
        intern(interned, data.tasks.length + 1 + data.lanes.length, "wakes");
        intern(interned, data.tasks.length + 2 + data.lanes.length, "throttled");
      });
    });
  }

  function declareCpus(trace, data) {
    declare(trace, (track) => {
      track.number(1, uuid(CPUS));
      track.string(2, "CPUs");
      track.number(11, ORDER_EXPLICIT);
    });
    data.lanes.forEach((_, cpu) =>
      declare(trace, (track) => {
        track.number(1, uuid(CPU, cpu));
        track.string(2, `cpu ${cpu}`);
        track.number(5, uuid(CPUS));
        track.number(12, cpu);
      }),
    );
  }

  function declareRole(trace, role, name) {
    declare(trace, (track) => {
      track.number(1, uuid(ROLE, role === null ? 0 : role + 1));
      track.message(3, (process) => {
        process.number(1, role === null ? UNKNOWN_PID : role + 1);
        process.string(6, name);
      });
    });
  }

  function declareTasks(trace, data) {
    const roles = new Set(data.tasks.map((task) => task.role ?? null));
    for (const role of roles) declareRole(trace, role, role === null ? "unknown" : data.roles[role]);
    data.tasks.forEach(({ label, role }, task) =>
      declare(trace, (track) => {
        track.number(1, uuid(TASK, task));
        track.number(5, uuid(ROLE, (role ?? -1) + 1));
        track.message(4, (thread) => {
          thread.number(1, (role ?? UNKNOWN_PID - 1) + 1);
          thread.number(2, FIRST_TID + task);
          thread.string(5, label);
        });
      }),
    );
  }

  function draw(trace, time, track, type, write) {
    packet(trace, (packet) => {
      packet.number(8, time);
      packet.number(13, NEEDS_STATE);
      packet.message(11, (event) => {
        event.number(9, type);
        event.number(11, track);
        write?.(event);
      });
    });
  }

  function drawCpus(trace, data) {
    data.lanes.forEach((lane, cpu) => {
      lane.start.forEach((start, i) => {
        draw(trace, start, uuid(CPU, cpu), BEGIN, (event) => event.number(10, lane.task[i] + 1));
        draw(trace, start + lane.length[i], uuid(CPU, cpu), END);
      });
    });
  }

  /** For each slice that follows on a wake-up by a task: the numbers of the wake-ups. */
  function arrowsBySlice(data) {
    const arrows = new Map();
    data.wakes.time.forEach((time, wake) => {
      const slice = timeline.data.firstSliceFrom(data, data.wakes.woken[wake], time);
      if (data.wakes.waker[wake] === 0 || slice < 0) return;
      if (!arrows.has(slice)) arrows.set(slice, []);
      arrows.get(slice).push(wake);
    });
    return arrows;
  }

  function drawTasks(trace, data, arrows) {
    const index = timeline.data.byTask(data);
    index.slice.forEach((slice) => {
      const track = uuid(TASK, data.all.task[slice]);
      const start = data.all.start[slice];
      draw(trace, start, track, BEGIN, (event) => {
        event.number(10, data.tasks.length + 1 + timeline.data.cpuOf(data, slice));
        for (const wake of arrows.get(slice) ?? []) event.fixed64(48, wake + 1);
      });
      draw(trace, start + data.all.length[slice], track, END);
    });
  }

  function drawWakes(trace, data, arrows) {
    const iid = data.tasks.length + 1 + data.lanes.length;
    for (const wakes of arrows.values()) {
      for (const wake of wakes) {
        draw(trace, data.wakes.time[wake], uuid(TASK, data.wakes.waker[wake] - 1), INSTANT, (event) => {
          event.number(10, iid);
          event.fixed64(47, wake + 1);
        });
      }
    }
  }

  /** A track below that of each task that ever was throttled. */
  function drawThrottled(trace, data) {
    for (const [task, lane] of timeline.throttled.byTask(data)) {
      declare(trace, (track) => {
        track.number(1, uuid(THROTTLED, task));
        track.string(2, "throttled");
        track.number(5, uuid(TASK, task));
      });
      lane.start.forEach((start, i) => {
        const name = (event) => event.number(10, data.tasks.length + 2 + data.lanes.length);
        draw(trace, start, uuid(THROTTLED, task), BEGIN, name);
        draw(trace, start + lane.length[i], uuid(THROTTLED, task), END);
      });
    }
  }

  /**
   * The timeline as a trace that ui.perfetto.dev opens: a track for each CPU and for each task, and arrows from wakers.
   * @returns {Uint8Array}
   */
  function perfetto(data) {
    const trace = new Writer();
    const arrows = arrowsBySlice(data);
    internNames(trace, data);
    declareCpus(trace, data);
    declareTasks(trace, data);
    drawCpus(trace, data);
    drawTasks(trace, data, arrows);
    drawThrottled(trace, data);
    drawWakes(trace, data, arrows);
    return trace.done();
  }

  const timeline = (globalThis.schedlabTimeline ??= {});
  Object.assign(timeline, { perfetto });
})();
