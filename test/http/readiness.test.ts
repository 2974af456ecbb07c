import { setTimeout as sleep } from 'node:timers/promises';
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

test('concurrent calls share one run of the checks; a later call runs them again', async () => {
  let runs = 0;
  const check = async (): Promise<void> => {
    runs += 1;
    await sleep(10);
  };
  const readiness = createReadiness({ Postgres: { check, needed: false } });
  await Promise.all(Array.from({ length: 100 }, readiness));
  expect(runs).toBe(1);
  await readiness();
  expect(runs).toBe(2);
});
