import { expect, test } from 'vitest';
import { createReadiness } from '../../src/http/readiness.ts';

const well = async (): Promise<void> => undefined;
const ill = async (): Promise<void> => {
  throw new Error('connect ECONNREFUSED 10.0.0.1:6379');
};
const silent = (): Promise<void> => new Promise(() => undefined);
const broken = (): Promise<void> => {
  throw new Error('at once');
};

test('ready when every check passes', async () => {
  expect(await createReadiness({ Redis: well, Postgres: well })()).toBeNull();
  expect(await createReadiness({})()).toBeNull();
});

test('names what fails, throws or does not answer in time, and not why', async () => {
  const readiness = createReadiness({ Redis: ill, Postgres: well, migrations: silent, other: broken }, 30);
  expect(await readiness()).toBe('Not ready: Redis, migrations, other');
});
