import { expect, test } from 'vitest';
import { createPool } from '../../src/postgres/pool.ts';
import { transaction } from '../../src/postgres/transaction.ts';
import { Bill, currentBill, inOwnTurn, Lane, noCost, TenantLanes } from '../../src/pacing/turns.ts';
import { testStack } from '../stack/stack.ts';
import { opened } from '../stack/opened.ts';

const stack = opened(() => testStack({ redis: false }));
const pool = opened(() => createPool(stack.databaseUrl, { max: 10 }), 'end');

const laneOf = (tenant: TenantLanes, isOfUser = true): Lane => new Lane(tenant, { isOfUser, most: () => Infinity });

/** Runs a request in turns of the lane; resolves with its cost and the result. */
async function charged<T>(lane: Lane, work: () => Promise<T>) {
  const cost = noCost();
  const bill = new Bill(lane, cost, () => undefined);
  const result = await new Promise<T>((resolve, reject) => {
    lane.start(bill, () => {
      work()
        .finally(() => lane.ended())
        .then(resolve, reject);
    });
  });
  expect(bill.connections).toBe(0);
  return { bill, cost, result };
}

test('charges time and bytes of statements, also in a transaction, and the request goes on in a turn of its own', async () => {
  const { bill, cost, result } = await charged(laneOf(new TenantLanes()), async () => {
    const bills = [];
    await pool.query('SELECT pg_sleep(0.05)');
    bills.push(currentBill());
    await pool.query(`SELECT repeat('x', 100000) AS text`);
    bills.push(currentBill());
    await transaction(pool, async (client) => {
      bills.push(currentBill());
      await client.query('SELECT pg_sleep(0.05)');
      bills.push(currentBill());
    });
    bills.push(currentBill());
    return bills;
  });
  expect(result).toEqual(Array.from({ length: 5 }, () => bill));
  expect(cost.postgresMs).toBeGreaterThan(95);
  expect(cost.postgresBytes).toBeGreaterThan(100_000);
  expect(cost.postgresBytes).toBeLessThan(120_000);
});

test('an error of a statement arrives as without a bill, and leaves the pool usable', async () => {
  const lane = laneOf(new TenantLanes());
  for (let no = 0; no < 12; no += 1)
    await expect(charged(lane, () => pool.query('SELECT 1 / 0'))).rejects.toThrow('division by zero');
  const { result } = await charged(lane, () => pool.query<{ one: number }>('SELECT 1 AS one'));
  expect(result.rows).toEqual([{ one: 1 }]);
});

/** Six requests of each lane want a connection, and keep it until `expected` have one. Returns how many had one at a time. */
async function mostAtOnce(lanes: readonly Lane[], expected: number): Promise<number> {
  let now = 0;
  let most = 0;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const one = (lane: Lane) =>
    charged(lane, () =>
      transaction(pool, async () => {
        now += 1;
        most = Math.max(most, now);
        await inOwnTurn(released);
        now -= 1;
      }),
    );
  const all = lanes.flatMap((lane) => Array.from({ length: 6 }, () => one(lane)));
  await expect.poll(() => now).toBe(expected);
  release();
  await Promise.all(all);
  return most;
}

test('the requests of a user hold a fifth of the connections, those of a tenant half, and one if it is over its share', async () => {
  const tenant = new TenantLanes();
  expect(await mostAtOnce([laneOf(tenant)], 2)).toBe(2);
  expect(await mostAtOnce([laneOf(tenant, false)], 5)).toBe(5);
  const lanes = Array.from({ length: 5 }, () => laneOf(tenant));
  expect(await mostAtOnce(lanes, 5)).toBe(5);
  expect(await mostAtOnce([laneOf(new TenantLanes(() => true), false)], 1)).toBe(1);
});

test('the statements that a request sends together count as well: those beyond the limit wait for the others', async () => {
  const running = `SELECT pg_sleep(0.05), count(*)::int AS n FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep(0.05), count%'`;
  const mostOf = async (lane: Lane, limit: number): Promise<number> => {
    const { result } = await charged(lane, () =>
      Promise.all(Array.from({ length: 8 }, () => pool.query<{ n: number }>(running))),
    );
    const most = Math.max(...result.map(({ rows }) => rows[0]!.n));
    if (most > limit) throw new Error(`${most} statements at a time`);
    return most;
  };
  const tenant = new TenantLanes();
  // A busy machine may begin fewer while the first one runs.
  await expect.poll(() => mostOf(laneOf(tenant), 2)).toBe(2);
  await expect.poll(() => mostOf(laneOf(tenant, false), 5)).toBe(5);
});

test('a request that holds a connection gets another one, so that the requests of a user cannot wait for each other', async () => {
  const lane = laneOf(new TenantLanes());
  const nested = () =>
    charged(lane, () =>
      transaction(pool, async (client) => {
        await client.query('SELECT pg_sleep(0.02)');
        return (await pool.query('SELECT 1')).rowCount;
      }),
    );
  const answers = await Promise.all(Array.from({ length: 5 }, nested));
  expect(answers.map(({ result }) => result)).toEqual([1, 1, 1, 1, 1]);
});
