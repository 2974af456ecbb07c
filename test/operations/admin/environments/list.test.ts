import { expect, test } from 'vitest';
import { readEnv } from '../../../../src/settings/env.ts';
import { startLaurel } from '../../../laurel.ts';
import { opened } from '../../../stack/opened.ts';

const laurel = opened(() => startLaurel());

test('lists one environment: this deployment', async () => {
  const { status, body } = await laurel.admin.get('/v1/environments');
  expect([status, body]).toEqual([200, [{ name: 'Production', key: 'production', priority: 1 }]]);
});

test('has the name from the environment variables', () => {
  const named = readEnv({ ENVIRONMENT_NAME: 'Staging area', ENVIRONMENT_KEY: 'staging' });
  expect(named.environment).toEqual({ name: 'Staging area', key: 'staging' });
  expect(() => readEnv({ ENVIRONMENT_KEY: 'staging area' })).toThrow('ENVIRONMENT_KEY');
});
