import { Writable } from 'node:stream';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { knownParts, userPart } from '../../../src/redis/parts.ts';
import { connectionOf } from '../../../src/redis/endpoints.ts';
import { boardKeyPrefix } from '../../../src/redis/keys.ts';
import { startLaurel } from '../../laurel.ts';

test('an event whose ranks cannot be read is stored, answers without leaderboards, and is logged once a minute', async () => {
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write: (line: Buffer, _, done) => {
      lines.push(JSON.parse(line.toString()) as Record<string, unknown>);
      done();
    },
  });
  const laurel = await startLaurel({
    spread: 4,
    log: pino({ level: 'warn' }, stream),
    configuration: {
      metrics: [{ key: 'm', name: 'M' }],
      leaderboards: [
        { key: 'board', name: 'Board', status: 'active', rankBy: 'metric', metricKey: 'm', start: '2026-01-01' },
      ],
    },
  });
  const redis = await laurel.connect();
  try {
    const send = async (id: string): Promise<Record<string, unknown>> => {
      const { status, body } = await laurel.app.post('/v1/metrics/m/event', { user: { id }, value: 1 });
      expect(status).toBe(201);
      return body.leaderboards;
    };
    await expect.poll(() => send('ada')).toMatchObject({ board: { rank: 1 } });
    // Another part of the board has a type that cannot be counted.
    const own = userPart(laurel.redis, 0, 'ada');
    const other = knownParts(laurel.redis, 0).find((part) => part !== own)!;
    const [key] = await connectionOf(redis, own.shard).keys(`${boardKeyPrefix(own)}*`);
    await connectionOf(redis, other.shard).set(key!.replace(boardKeyPrefix(own), boardKeyPrefix(other)), 'text');

    const isLeftOut = ({ msg }: Record<string, unknown>): boolean => String(msg).includes('have no leaderboards');
    for (let round = 0; round < 3; round += 1) expect(await send('ada')).toEqual({});
    expect(lines.filter(isLeftOut)).toMatchObject([{ tenantNo: 0, events: 1, suppressed: 0 }]);
    expect(JSON.stringify(lines.find(isLeftOut))).toContain('WRONGTYPE');
    expect((await laurel.app.get('/v1/users/ada/metrics/m')).body.current).toBeGreaterThanOrEqual(4);
  } finally {
    redis.disconnect();
    await laurel.close();
  }
});
