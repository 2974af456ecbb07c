import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { Slices } from '../../src/pacing/slices.ts';
import { Bill, currentBill, forAll, inOwnTurn, Lane, nextTurn, noCost, TenantLanes } from '../../src/pacing/turns.ts';

const laneOf = (tenant = new TenantLanes(), most = Infinity): Lane =>
  new Lane(tenant, { isOfUser: true, most: () => most });
const billOf = (lane = laneOf()): Bill => new Bill(lane, noCost(), () => undefined);

/** Runs a request; resolves with its result when it has ended. */
const request = <T>(bill: Bill, work: () => Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    bill.lane.start(bill, () => {
      work()
        .finally(() => bill.lane.ended())
        .then(resolve, reject);
    });
  });

/** The time that turns measure. Only `busy` lets it pass, so that a slow machine changes no turn. */
let nowMs = 0;

beforeAll(() => void vi.spyOn(performance, 'now').mockImplementation(() => nowMs));
afterAll(() => void vi.restoreAllMocks());

/** Occupies the loop. */
function busy(ms: number): void {
  nowMs += ms;
}

const manyMicrotasks = async (): Promise<void> => {
  for (let no = 0; no < 100; no += 1) await Promise.resolve();
};

test('a request keeps its bill over microtasks, pauses and shared promises, beside others; nothing has a bill outside of turns', async () => {
  const shared = sleep(5);
  const seen = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const bill = billOf();
      return request(bill, async () => {
        const steps = [manyMicrotasks, nextTurn, () => inOwnTurn(shared), () => inOwnTurn(sleep(1)), manyMicrotasks];
        const bills = [currentBill()];
        for (const step of steps) {
          await step();
          bills.push(currentBill());
        }
        return bills.every((each) => each === bill);
      });
    }),
  );
  expect(seen).toEqual([true, true, true, true, true]);
  // This test went on in the last turn, like everybody who awaits a request's promise.
  await new Promise((resolve) => setImmediate(resolve));
  expect(currentBill()).toBeNull();
});

test('a request pays for its own time, also in microtasks, and not for that of others', async () => {
  const paid = { busy: 0, idle: 0 };
  const bills = {
    busy: new Bill(laneOf(), noCost(), (ms) => (paid.busy += ms)),
    idle: new Bill(laneOf(), noCost(), (ms) => (paid.idle += ms)),
  };
  await Promise.all([
    request(bills.busy, async () => {
      await manyMicrotasks();
      busy(30);
      await nextTurn();
      busy(30);
    }),
    request(bills.idle, async () => {
      for (let no = 0; no < 3; no += 1) await nextTurn();
    }),
  ]);
  // What a turn costs is known when it has ended.
  await nextTurn();
  expect(paid).toEqual({ busy: 60, idle: 0 });
});

test('work for all has no bill', async () => {
  const bill = billOf();
  const seen = await request(bill, async () => [forAll(currentBill), currentBill()]);
  expect(seen).toEqual([null, bill]);
});

test('a lane runs only so many requests at a time', async () => {
  const lane = laneOf(new TenantLanes(), 2);
  let running = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 7 }, () =>
      request(billOf(lane), async () => {
        running += 1;
        most = Math.max(most, running);
        await inOwnTurn(sleep(1));
        running -= 1;
      }),
    ),
  );
  expect(most).toBe(2);
  expect(lane.isIdle).toBe(true);
});

test('of two tenants that both have work, each has the same number of turns, however many requests and users one has', async () => {
  const turns: string[] = [];
  const work = async (name: string): Promise<void> => {
    for (let no = 0; no < 5; no += 1) {
      turns.push(name);
      busy(0.1);
      await nextTurn();
    }
  };
  const many = new TenantLanes();
  const requests = Array.from({ length: 20 }, () => request(billOf(laneOf(many)), () => work('many')));
  await Promise.all([...requests, request(billOf(), () => work('one'))]);
  // The single request ends among the first, instead of waiting for a hundred turns of the others.
  expect(turns.lastIndexOf('one')).toBeLessThan(15);
});

test('a tenant whose turns took long waits until the others had as much time', async () => {
  const order: string[] = [];
  const long = request(billOf(), async () => {
    busy(8);
    await nextTurn();
    order.push('long');
  });
  const short = request(billOf(), async () => {
    for (let no = 0; no < 4; no += 1) {
      await nextTurn();
      order.push('short');
    }
  });
  await Promise.all([long, short]);
  expect(order).toEqual(['short', 'short', 'short', 'short', 'long']);
});

test('sockets are read between the turns of a long computation', async () => {
  let ended = false;
  const computation = request(billOf(), async () => {
    const slices = new Slices();
    for (let no = 0; no < 40; no += 1) {
      busy(0.5);
      if (slices.over) await slices.turn();
    }
    ended = true;
  });
  // An immediate runs in the phase of the loop in which turns do; the next one, after sockets were read.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  expect(ended).toBe(false);
  await computation;
});

test('a costly lane pauses between its turns; others, and one that is not costly, do not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const order: string[] = [];
  const work = async (name: string): Promise<void> => {
    for (let no = 0; no < 3; no += 1) {
      busy(0.6);
      order.push(name);
      await nextTurn();
    }
  };
  const laneThat = (isCostly: boolean): Lane =>
    new Lane(new TenantLanes(), { isOfUser: true, most: () => Infinity, isCostly: () => isCostly });
  const rounds = async (): Promise<void> => {
    for (let no = 0; no < 10; no += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const costly = request(billOf(laneThat(true)), () => work('costly'));
  await request(billOf(laneThat(false)), () => work('other'));
  for (const turns of [1, 2, 3]) {
    await rounds();
    expect(order.filter((name) => name === 'costly').length).toBe(turns);
    vi.advanceTimersByTime(1);
  }
  expect(order.slice(0, 4)).toEqual(['costly', 'other', 'other', 'other']);
  await costly;
});
