import { expect, test } from 'vitest';
import { createReadiness } from '../../src/http/health.ts';

const well = async (): Promise<void> => undefined;
const ill = async (): Promise<void> => {
  throw new Error('connect ECONNREFUSED 10.0.0.1:6379');
};
const silent = (): Promise<void> => new Promise(() => undefined);
const broken = (): Promise<void> => {
  throw new Error('at once');
};

test('ready when every check passes', async () => {
  const checks = { Redis: { check: well, needed: true }, Postgres: { check: well, needed: false } };
  expect(await createReadiness(checks)()).toEqual({ missing: [], degraded: [] });
  expect(await createReadiness({})()).toEqual({ missing: [], degraded: [] });
});

test('names what fails, throws or times out, but not why; an optional dependency only degrades', async () => {
  const readiness = createReadiness(
    {
      Redis: { check: ill, needed: true },
      backlog: { check: well, needed: true },
      migrations: { check: silent, needed: true },
      Postgres: { check: silent, needed: false },
      replicas: { check: broken, needed: false },
    },
    30,
  );
  expect(await readiness()).toEqual({ missing: ['Redis', 'migrations'], degraded: ['Postgres', 'replicas'] });
});

test('concurrent calls share a query; a later one queries again, and does not wait if there is a recent answer', async () => {
  const queries: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const check = (): Promise<void> => new Promise((resolve, reject) => void queries.push({ resolve, reject }));
  const readiness = createReadiness({ Postgres: { check, needed: false } }, 3_600_000);
  const first = Promise.all(Array.from({ length: 100 }, readiness));
  expect(queries).toHaveLength(1);
  queries[0]!.resolve();
  expect((await first)[0]).toEqual({ missing: [], degraded: [] });
  // The second query has no answer yet.
  expect(await readiness()).toEqual({ missing: [], degraded: [] });
  expect(queries).toHaveLength(2);
  queries[1]!.reject(new Error('connect ECONNREFUSED'));
  await expect.poll(readiness).toEqual({ missing: [], degraded: ['Postgres'] });
  for (const { resolve } of queries) resolve();
});

test('a server that refuses at once is reported by the same probe, despite a recent answer', async () => {
  let check = well;
  const readiness = createReadiness({ Postgres: { check: () => check(), needed: false } });
  expect(await readiness()).toEqual({ missing: [], degraded: [] });
  check = ill;
  expect(await readiness()).toEqual({ missing: [], degraded: ['Postgres'] });
});

test('a condition of this process is checked each time', async () => {
  let isFull = true;
  const readiness = createReadiness({ backlog: { check: () => !isFull, needed: true } });
  expect(await readiness()).toEqual({ missing: ['backlog'], degraded: [] });
  isFull = false;
  expect(await readiness()).toEqual({ missing: [], degraded: [] });
});
