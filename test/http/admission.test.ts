import { describe, expect, test } from 'vitest';
import { Admission, type From } from '../../src/http/access/admission.ts';

const BOUND = { mostWaitMs: 1_000, burst: 10, firstRate: 100 };

/** A queue of events that is driven by its own time. */
class Driven {
  readonly admission: Admission;
  nowMs = 1_000;
  private readonly waiting: From[] = [];

  constructor(bound = BOUND) {
    this.admission = new Admission({ events: bound });
  }

  /** Sends a request. Returns whether it is admitted. */
  send(from: From): boolean {
    if (this.admission.refusal('events', from, this.nowMs) !== null) return false;
    this.admission.enter('events', from);
    this.waiting.push(from);
    return true;
  }

  /** Sends so many requests; returns how many are admitted. */
  sendMany(count: number, from: (n: number) => From): number {
    return Array.from({ length: count }, (_, n) => this.send(from(n))).filter(Boolean).length;
  }

  /** Answers the oldest requests. */
  answer(count: number, isDone = true): void {
    for (const from of this.waiting.splice(0, count)) this.admission.leave('events', from, isDone);
  }

  /** Requests arrive and are answered at these rates. Returns the largest number in flight. */
  run(seconds: number, { offered, answered, from }: { offered: number; answered: number; from: (n: number) => From }) {
    let most = 0;
    for (let tick = 0; tick < seconds * 100; tick += 1) {
      this.nowMs += 10;
      this.sendMany(offered / 100, from);
      most = Math.max(most, this.waiting.length);
      this.answer(answered / 100);
    }
    return most;
  }

  get inFlight(): number {
    return this.waiting.length;
  }
}

const server = (tenantNo: number): From => ({ tenantNo, prefix: `server ${tenantNo}` });
const user = (n: number): From => ({ tenantNo: 0, prefix: `user ${n}` });

describe('a queue', () => {
  test('admits what is answered within the bound at the first rate, and names when to try again', () => {
    const queue = new Driven();
    expect(queue.sendMany(500, () => server(0))).toBe(101);
    const refusal = queue.admission.refusal('events', server(0), queue.nowMs);
    expect(refusal).toMatchObject({ status: 503, code: 'overloaded', headers: { 'Retry-After': '5' } });
    queue.answer(101);
    expect(queue.send(server(0))).toBe(true);
  });

  test('asks refused clients to come back one after another, at the rate at which requests are answered', () => {
    const queue = new Driven();
    expect(queue.sendMany(101, () => server(0))).toBe(101);
    const retryTimes = (refusals: number): Map<number, number> => {
      const seconds = new Map<number, number>();
      for (let n = 0; n < refusals; n += 1) {
        const error = queue.admission.refusal('events', server(0), queue.nowMs);
        const retryS = Number(error!.headers!['Retry-After']);
        seconds.set(retryS, (seconds.get(retryS) ?? 0) + 1);
      }
      return seconds;
    };
    // The queue takes 1.01 s.
    expect([...retryTimes(300)]).toEqual([
      [2, 100],
      [3, 100],
      [4, 100],
    ]);
    // In an overload that goes on, no client waits much longer than the others.
    const later = retryTimes(10_000);
    expect(Math.max(...later.keys())).toBe(12);
    expect(Math.max(...later.values())).toBeLessThan(
      1.3 * Math.min(...[...later].flatMap(([s, n]) => (s > 2 && s < 12 ? n : []))),
    );
  });

  test.each([100, 500, 5_000])(
    'holds at most a second of its capacity of %i a second, and uses all of it',
    (capacity) => {
      const queue = new Driven();
      const how = { offered: capacity * 3 + 200, answered: capacity, from: () => server(0) };
      queue.run(5, how);
      expect(queue.run(5, how)).toBeLessThanOrEqual(Math.max(capacity, BOUND.burst) * 1.3 + how.offered / 100);
      expect(queue.inFlight).toBeGreaterThan(capacity * 0.7);
    },
  );

  test('measures the capacity as soon as a queue begins, regardless of the rate that was assumed', () => {
    const queue = new Driven({ ...BOUND, firstRate: 10_000 });
    expect(queue.run(5, { offered: 1_000, answered: 100, from: () => server(0) })).toBeLessThan(300);
  });

  test('forgets an overload at once when it is over', () => {
    const queue = new Driven();
    queue.run(5, { offered: 3_000, answered: 1_000, from: () => server(0) });
    queue.run(2, { offered: 500, answered: 1_000, from: () => server(0) });
    expect([queue.inFlight, queue.admission.waitMs('events')]).toEqual([0, 0]);
    expect(queue.run(1, { offered: 500, answered: 1_000, from: () => server(0) })).toBe(5);
  });

  test('little traffic says nothing about the rate: a burst after it is admitted', () => {
    const queue = new Driven();
    queue.run(60, { offered: 100, answered: 100, from: () => server(0) });
    expect(queue.sendMany(90, () => server(0))).toBe(90);
  });

  test('a stall refuses all but a few, and the rate recovers with the answers', () => {
    const queue = new Driven();
    queue.run(5, { offered: 2_000, answered: 1_000, from: () => server(0) });
    const before = queue.inFlight;
    queue.run(10, { offered: 2_000, answered: 0, from: () => server(0) });
    expect(queue.inFlight).toBeLessThan(before * 1.3);
    queue.run(5, { offered: 2_000, answered: 1_000, from: () => server(0) });
    expect(queue.admission.waitMs('events')).toBeGreaterThan(900);
    expect(queue.inFlight).toBeGreaterThan(700);
  });

  test('refusals and errors are no answers of the queue', () => {
    const queue = new Driven();
    queue.sendMany(50, () => server(0));
    for (let n = 0; n < 1_000; n += 1) {
      queue.nowMs += 10;
      queue.send(server(0));
      queue.answer(1, false);
    }
    queue.sendMany(1_000, () => server(0));
    expect(queue.inFlight).toBe(Math.ceil(BOUND.burst / 4));
  });

  test('a burst is admitted however slow the machine, but not what goes on for seconds; the next burst is again', () => {
    const queue = new Driven({ ...BOUND, burst: 400 });
    const offer = (offered: number, seconds: number): number =>
      queue.run(seconds, { offered, answered: 200, from: () => server(0) });
    expect(queue.sendMany(400, () => server(0))).toBe(400);
    expect(offer(600, 10)).toBeLessThanOrEqual(404);
    expect(offer(600, 10)).toBeLessThan(200 * 1.3);
    expect(queue.inFlight).toBeGreaterThan(200 * 0.7);
    offer(0, 2);
    expect(queue.sendMany(400, () => server(0))).toBe(400);
  });
});

describe('those who did not cause a queue are not refused', () => {
  test('a tenant with less than the average in flight', () => {
    const queue = new Driven();
    expect(queue.sendMany(1_000, () => server(0))).toBe(101);
    // Together they have 200 then, of which this is half.
    expect(queue.sendMany(1_000, () => server(1))).toBe(99);
    expect(queue.send(server(0))).toBe(false);
    expect(queue.send(server(2))).toBe(true);
  });

  test('a user beside users who fill the queue', () => {
    const queue = new Driven();
    expect(queue.sendMany(1_000, (n) => user(n % 5))).toBe(101);
    expect(queue.send(user(0))).toBe(false);
    expect(queue.sendMany(10, () => user(7))).toBeGreaterThan(0);
  });

  test('but many users with a request each fill it together', () => {
    const queue = new Driven();
    expect(queue.sendMany(1_000, user)).toBe(101);
  });
});
