import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import type { ScheduledWork } from '../../../src/engine/schedule/due-work.ts';
import { Schedule } from '../../../src/engine/schedule/schedule.ts';

const never = new AbortController().signal;
const troubles: string[] = [];
/** By this time answers become old, and failed work is tried again: it passes only if a test says so. */
let elapsedMs = 0;

beforeAll(() => void vi.spyOn(performance, 'now').mockImplementation(() => elapsedMs));
afterAll(() => void vi.restoreAllMocks());

/** Work at some times, which records what is done. */
class Listed implements ScheduledWork {
  readonly name: string;
  times: number[];
  private readonly done: string[];

  constructor(name: string, times: number[], done: string[]) {
    this.name = name;
    this.times = times;
    this.done = done;
  }

  async due(upToMs: number): Promise<number | null> {
    const first = this.times[0];
    return first === undefined || first > upToMs ? null : first;
  }

  upcoming(untilMs: number): Promise<number | null> {
    return this.due(untilMs);
  }

  async perform(dueMs: number, _ending: AbortSignal, _beforeMs: number, _upToMs?: number): Promise<void> {
    this.times = this.times.filter((time) => time !== dueMs);
    this.done.push(`${this.name} ${dueMs}`);
  }
}

const schedule = (kinds: ScheduledWork[], nowMs: number, patienceMs = 60_000) =>
  new Schedule({
    kinds,
    clock: new FixedClock(nowMs),
    settled: async () => true,
    onTrouble: (kind) => void troubles.push(kind),
    patienceMs,
  });

test('does work of all kinds in the order of its times, the first kind first at the same time', async () => {
  const done: string[] = [];
  const kinds = [new Listed('a', [10, 30, 50], done), new Listed('b', [5, 30, 40, 99], done)];
  expect(await schedule(kinds, 60).pass(never)).toEqual({ state: 'done' });
  expect(done).toEqual(['b 5', 'a 10', 'a 30', 'b 30', 'b 40', 'a 50']);
});

test('asks kinds that share reads at the same time, before the others; the order of work stays', async () => {
  const [asked, done]: [string[], string[]] = [[], []];
  class Asked extends Listed {
    override async due(upToMs: number): Promise<number | null> {
      asked.push(this.name);
      await new Promise((resolve) => void setImmediate(resolve));
      return super.due(upToMs);
    }
  }
  class Sharing extends Asked {
    readonly sharesReads = true;
  }
  const kinds = ['a', 'b', 'c', 'd', 'e'].map((name) => new Asked(name, [10], done));
  const sharing = ['f', 'g'].map((name) => new Sharing(name, [10], done));
  await schedule([...kinds, ...sharing], 60).pass(never);
  expect(asked.slice(0, 7)).toEqual(['f', 'g', 'a', 'b', 'c', 'd', 'e']);
  expect(done).toEqual(['a 10', 'b 10', 'c 10', 'd 10', 'e 10', 'f 10', 'g 10']);
});

test('gives a kind the time until which no other has anything to do', async () => {
  const given: [number, number][] = [];
  class Many extends Listed {
    override async perform(dueMs: number, ending: AbortSignal, beforeMs: number): Promise<void> {
      given.push([dueMs, beforeMs]);
      for (const time of this.times.filter((each) => each < beforeMs)) await super.perform(time, ending, beforeMs);
    }
  }
  const done: string[] = [];
  const kinds = [new Many('many', [1, 2, 20, 20, 21, 30], done), new Listed('other', [20, 25], done)];
  await schedule(kinds, 60).pass(never);
  expect(done).toEqual(['many 1', 'many 2', 'many 20', 'many 20', 'other 20', 'many 21', 'other 25', 'many 30']);
  expect(given).toEqual([
    [1, 20],
    [20, 21],
    [21, 25],
    [30, 61],
  ]);
});

test('waits for accepted events before it decides what is due, and between two pieces of work', async () => {
  const done: string[] = [];
  const waited = new Schedule({
    kinds: [new Listed('a', [1, 2], done)],
    clock: new FixedClock(9),
    settled: async () => done.push('settled') > 0,
    onTrouble: () => undefined,
  });
  await waited.pass(never);
  expect(done).toEqual(['settled', 'a 1', 'settled', 'a 2', 'settled']);
  const behind = new Schedule({
    kinds: [new Listed('a', [1], done)],
    clock: new FixedClock(9),
    settled: async () => false,
    onTrouble: () => undefined,
  });
  expect(await behind.pass(never)).toMatchObject({ state: 'held up' });
  expect(done).toHaveLength(5);
});

test('waits for storage after a kind that sees its own effects only if another one follows, or time advanced', async () => {
  const done: string[] = [];
  const clock = new FixedClock(9);
  class Seeing extends Listed {
    readonly seesItself = true;
    override async perform(dueMs: number, ending: AbortSignal, beforeMs: number): Promise<void> {
      await super.perform(dueMs, ending, beforeMs);
      if (dueMs === 5) clock.set(12);
    }
  }
  const both = new Schedule({
    kinds: [new Seeing('a', [1, 2, 4, 5, 11, 12], done), new Listed('b', [3], done)],
    clock,
    settled: async () => done.push('settled') > 0,
    onTrouble: () => undefined,
  });
  await both.pass(never);
  expect(done).toEqual([
    'settled',
    'a 1',
    'a 2',
    'settled',
    'b 3',
    'settled',
    'a 4',
    'a 5',
    'settled',
    'a 11',
    'a 12',
    'settled',
  ]);
});

test('after upkeep, any work follows without another wait, and without asking the others again', async () => {
  const done: string[] = [];
  const clock = new FixedClock(9);
  class Upkeep extends Listed {
    readonly isUpkeep = true;
    override async perform(dueMs: number, ending: AbortSignal, beforeMs: number): Promise<void> {
      await super.perform(dueMs, ending, beforeMs);
      // Not waited for yet.
      clock.set(10);
    }
  }
  let asked = 0;
  const upTo: number[] = [];
  class Asked extends Listed {
    override due(upToMs: number): Promise<number | null> {
      asked += 1;
      return super.due(upToMs);
    }
    override async perform(...given: Parameters<Listed['perform']>): Promise<void> {
      upTo.push(given[3]!);
      await super.perform(...given);
    }
  }
  const kinds = [new Upkeep('a', [1, 2, 6], done), new Upkeep('b', [1, 3], done), new Asked('c', [4], done)];
  const all = new Schedule({
    kinds,
    clock,
    settled: async () => done.push('settled') > 0,
    onTrouble: () => undefined,
    answeredMs: 60_000,
  });
  expect(await all.pass(never)).toEqual({ state: 'done' });
  expect(done).toEqual(['settled', 'a 1', 'b 1', 'a 2', 'b 3', 'c 4', 'settled', 'a 6', 'settled']);
  // At the beginning, after its own work, and before the end.
  expect(asked).toBe(3);
  expect(upTo).toEqual([9]);
});

test('work that falls due during much upkeep does not wait for its end', async () => {
  const done: string[] = [];
  const clock = new FixedClock(9);
  class Long extends Listed {
    readonly isUpkeep = true;
    override async perform(dueMs: number, ending: AbortSignal, beforeMs: number): Promise<void> {
      await super.perform(dueMs, ending, beforeMs);
      clock.set(20);
    }
  }
  const all = new Schedule({
    kinds: [new Listed('a', [10], done), new Long('long', [5, 11, 12], done)],
    clock,
    settled: async () => true,
    onTrouble: () => undefined,
    answeredMs: 0,
  });
  expect(await all.pass(never)).toEqual({ state: 'done' });
  expect(done).toEqual(['long 5', 'a 10', 'long 11', 'long 12']);
});

test('when everything is done, the next pass asks every kind once', async () => {
  let asked = 0;
  class Asked extends Listed {
    readonly seesItself = true;
    override due(upToMs: number): Promise<number | null> {
      asked += 1;
      return super.due(upToMs);
    }
  }
  const passes = schedule([new Asked('a', [10], [])], 60);
  expect(await passes.pass(never)).toEqual({ state: 'done' });
  asked = 0;
  expect(await passes.pass(never)).toEqual({ state: 'done' });
  expect(asked).toBe(1);
});

test('a kind that sees its own effects continues without asking the others again', async () => {
  const done: string[] = [];
  const asked: string[] = [];
  class Asked extends Listed {
    readonly seesItself = true;
    override due(upToMs: number): Promise<number | null> {
      asked.push(this.name);
      return super.due(upToMs);
    }
  }
  const kinds = [new Asked('a', [10, 20, 40], done), new Asked('b', [30], done)];
  const clock = new FixedClock(60);
  const options = { kinds, clock, settled: async () => true, onTrouble: () => undefined };
  expect(await new Schedule({ ...options, answeredMs: Infinity }).pass(never)).toEqual({ state: 'done' });
  expect(done).toEqual(['a 10', 'a 20', 'b 30', 'a 40']);
  // All at first, and whenever another kind or none comes next; otherwise the one that continues.
  expect(asked.join('')).toBe('ab' + 'a' + 'a' + 'ab' + 'b' + 'ab' + 'a' + 'ab');
});

test('names a failing kind without silencing the others; its own work keeps its order', async () => {
  const done: string[] = [];
  let broken = true;
  class Failing extends Listed {
    override async perform(dueMs: number, ending: AbortSignal, beforeMs: number): Promise<void> {
      if (broken && dueMs === 10) throw new Error('no');
      await super.perform(dueMs, ending, beforeMs);
    }
  }
  troubles.length = 0;
  const all = schedule([new Failing('bad', [10, 20], done), new Listed('good', [15, 25], done)], 60);
  expect(await all.pass(never)).toEqual({ state: 'held up', by: 'bad cannot be done' });
  expect(done).toEqual(['good 15', 'good 25']);
  expect(troubles).toEqual(['bad']);
  broken = false;
  elapsedMs += 1_000;
  expect(await all.pass(never)).toEqual({ state: 'done' });
  expect(done).toEqual(['good 15', 'good 25', 'bad 10', 'bad 20']);
});

test('names a kind that hangs, and skips it until its call ends', async () => {
  const done: string[] = [];
  let release = (): void => undefined;
  class Hanging extends Listed {
    override async perform(dueMs: number, ending: AbortSignal, beforeMs: number): Promise<void> {
      if (dueMs === 10) await new Promise<void>((resolve) => (release = resolve));
      await super.perform(dueMs, ending, beforeMs);
    }
  }
  troubles.length = 0;
  const all = schedule([new Hanging('slow', [10, 20], done), new Listed('good', [15], done)], 60, 50);
  expect(await all.pass(never)).toMatchObject({ state: 'held up' });
  expect(await all.pass(never)).toMatchObject({ state: 'held up' });
  expect([done, troubles]).toEqual([['good 15'], ['slow']]);
  release();
  elapsedMs += 1_000;
  await expect.poll(() => all.pass(never)).toEqual({ state: 'done' });
  expect(done).toEqual(['good 15', 'slow 10', 'slow 20']);
});

test.each(['due', 'perform'] as const)(
  'a kind whose "%s" failed holds a pass up, even if it may be tried again at the end',
  async (call) => {
    const done: string[] = [];
    let broken = true;
    const fail = (at: string): void => {
      if (broken && at === call) throw new Error('no');
    };
    class Failing extends Listed {
      override async due(upToMs: number): Promise<number | null> {
        fail('due');
        return super.due(upToMs);
      }
      override async perform(dueMs: number, ending: AbortSignal, beforeMs: number): Promise<void> {
        fail('perform');
        await super.perform(dueMs, ending, beforeMs);
      }
    }
    class Slow extends Listed {
      override async due(upToMs: number): Promise<number | null> {
        await new Promise((resolve) => void setImmediate(resolve));
        elapsedMs += 1_000;
        return super.due(upToMs);
      }
    }
    const all = schedule([new Failing('bad', [10], done), new Slow('slow', [], done)], 60);
    expect(await all.pass(never)).toEqual({ state: 'held up', by: 'bad cannot be done' });
    broken = false;
    expect(await all.pass(never)).toEqual({ state: 'done' });
    expect(done).toEqual(['bad 10']);
  },
);

test('a cancelled pass stops', async () => {
  const done: string[] = [];
  const ending = new AbortController();
  class Ending extends Listed {
    override async perform(dueMs: number, signal: AbortSignal, beforeMs: number): Promise<void> {
      await super.perform(dueMs, signal, beforeMs);
      ending.abort();
    }
  }
  expect(await schedule([new Ending('a', [1, 2, 3], done)], 9).pass(ending.signal)).toEqual({ state: 'more' });
  expect(done).toEqual(['a 1']);
});

test('independent kinds do not delay each other; others do', async () => {
  const done: string[] = [];
  class Apart extends Listed {
    readonly apartFrom = ['a', 'b'];
    override async perform(dueMs: number, ending: AbortSignal, beforeMs: number): Promise<void> {
      for (const time of this.times.filter((each) => each === dueMs || each < beforeMs))
        await super.perform(time, ending, beforeMs);
    }
  }
  const kinds = [new Apart('a', [10, 30, 50], done), new Apart('b', [20, 40, 60], done), new Listed('c', [45], done)];
  expect(await schedule(kinds, 60).pass(never)).toEqual({ state: 'done' });
  expect(done).toEqual(['a 10', 'a 30', 'b 20', 'b 40', 'c 45', 'a 50', 'b 60']);
});

test('reports how late each kind is, also a failing one; unknown after another process takes over', async () => {
  class Failing extends Listed {
    override perform(): Promise<void> {
      return Promise.reject(new Error('odd'));
    }
  }
  const done: string[] = [];
  const tried = schedule([new Listed('well', [10], done), new Failing('failing', [20], done)], 60);
  expect(await tried.pass(never)).toMatchObject({ state: 'held up' });
  expect(tried.states()).toEqual([
    { kind: 'well', overdueMs: 0, aside: 0 },
    { kind: 'failing', overdueMs: 40, aside: 1 },
  ]);
  tried.forget();
  expect(tried.states().map(({ overdueMs }) => overdueMs)).toEqual([0, 0]);
});
