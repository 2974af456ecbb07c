import { describe, expect, test } from 'vitest';
import { readEnv } from '../../src/settings/env.ts';
import { prepareDatabase, welcome } from '../../src/processes/first-start.ts';
import { isConsoleBuilt } from '../../src/processes/pages.ts';
import { testDatabase } from '../postgres/database.ts';
import { opened } from '../stack/opened.ts';

const database = opened(() => testDatabase());

const start = async (variables: Record<string, string>) => {
  const env = readEnv({ LAUREL_DEMO: '0', ...variables });
  const { redisUrl, databaseUrl } = database.stack;
  const prepared = await prepareDatabase(env, { redisUrl, databaseUrl });
  return { prepared, said: welcome(env, prepared) };
};
const PRODUCTION = { NODE_ENV: 'production', REDIS_URL: 'redis://r', DATABASE_URL: 'postgres://p' };

describe.skipIf(!isConsoleBuilt())('the link to the console', () => {
  test('is printed by the start that makes the first key, and in production by no other', async () => {
    const first = await start(PRODUCTION);
    expect(first.prepared.newKey).not.toBeNull();
    expect(first.said).toMatch(/^ {2}Console {10}http:\/\/localhost:8081\/console#token=[\w-]{43}$/m);
    const second = await start(PRODUCTION);
    expect([second.prepared.newKey, second.prepared.signInToken]).toEqual([null, null]);
    expect(second.said).not.toContain('/console');
  });

  test('is printed by every start elsewhere, with another token', async () => {
    const tokens = [(await start({})).prepared.signInToken, (await start({})).prepared.signInToken];
    expect(tokens[0]).toMatch(/^[\w-]{43}$/);
    expect(tokens[1]).not.toBe(tokens[0]);
  });
});
