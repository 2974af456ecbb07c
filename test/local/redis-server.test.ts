import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { findRedisProgram, startRedis } from '../../src/local/redis-server.ts';
import { connectedRedis } from '../stack/connected-redis.ts';
import { CuttingProxy } from '../stack/cutting-proxy.ts';
import { DATA_FOLDER } from '../stack/data-folder.ts';

const { options: other } = await connectedRedis();

/** A Redis that first says that it is about to listen, and waits until it may. */
const WAITING = `#!/bin/sh
touch "$1.asks"
while [ ! -e "$1.may" ]; do sleep 0.01; done
exec ${findRedisProgram()} "$1"
`;

test('a private Redis whose port another Redis takes before it listens starts on another port', async () => {
  const folder = await mkdtemp(join(DATA_FOLDER, 'laurel-taken-port-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await chmod(folder, 0o755);
  const program = join(folder, 'waiting-redis');
  await writeFile(program, WAITING, { mode: 0o755 });
  const directory = join(folder, 'data');
  const configuration = join(directory, 'redis.conf');
  const starting = startRedis({ program, directory, password: null, durable: false, temporary: true });
  const portAsked = async (): Promise<number> => {
    await expect.poll(() => existsSync(`${configuration}.asks`), { interval: 5 }).toBe(true);
    return Number(/^port (\d+)$/m.exec(readFileSync(configuration, 'utf8'))![1]);
  };

  const taken = await portAsked();
  const taker = new CuttingProxy(`redis://${other.host!}:${other.port!}`);
  await taker.listen(taken);
  onTestFinished(() => taker.close());
  await writeFile(`${configuration}.may`, '');
  // Its directory is removed when it ends, and made again for the next attempt.
  await expect.poll(() => existsSync(`${configuration}.may`), { interval: 5 }).toBe(false);
  expect(await portAsked()).not.toBe(taken);
  await writeFile(`${configuration}.may`, '');

  const started = await starting;
  const redis = new Redis(started.url);
  expect(await redis.config('GET', 'dir')).toEqual(['dir', directory]);
  redis.disconnect();
  await started.stop();
});
