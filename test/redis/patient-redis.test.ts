import { expect, test } from 'vitest';
import { freePort } from '../../src/local/free-ports.ts';
import { createPatientRedis } from '../../src/redis/client.ts';

test.each([false, true])(
  'a connection that waits to reconnect ends on request, and what waits fails (a copy: %s)',
  async (isCopy) => {
    const original = createPatientRedis(`redis://127.0.0.1:${await freePort()}`);
    original.on('error', () => undefined);
    const redis = isCopy ? original.duplicate() : original;
    redis.on('error', () => undefined);
    const asked = redis.ping();
    await new Promise((resolve) => redis.once('reconnecting', resolve));
    const ended = new Promise((resolve) => redis.once('end', resolve));
    redis.disconnect();
    await expect(asked).rejects.toThrow('Connection is closed');
    await ended;
    if (isCopy) original.disconnect();
  },
);
