import { expect, test } from 'vitest';
import { channelOf } from '../../src/redis/signals.ts';
import { startLaurel } from '../laurel.ts';
import { CuttingProxy } from '../stack/cutting-proxy.ts';
import { testStack } from '../stack/stack.ts';
import { opened } from '../stack/opened.ts';

const stack = opened(() => testStack({ database: 'none' }));
const proxy = opened(() => new CuttingProxy(stack.redisUrl));
const laurel = opened(() => startLaurel({ redisUrl: stack.redisUrl }));

test('a frontend that starts during a change begins with the change', async () => {
  const change = async (): Promise<void> => {
    await laurel.admin.patch('/v1/organisation', { name: 'Renamed' });
    await laurel.admin.put('/v1/configuration', { metrics: [{ key: 'clicks', name: 'Clicks' }] });
  };
  const url = await proxy.listen();
  // The change and its announcement happen just before the frontend begins to listen.
  proxy.cutNext('requests', change, (chunk) => chunk.includes(channelOf('changes')));
  const starting = await laurel.another(url);
  expect((await starting.admin.get('/v1/organisation')).body.name).toBe('Renamed');
  const event = { user: { id: 'ada' }, value: 1 };
  expect((await starting.app.post('/v1/metrics/clicks/event', event)).status).toBe(201);
});
