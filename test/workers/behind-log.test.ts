import { expect, test } from 'vitest';
import { BehindLog } from '../../workers/watch.ts';

test('logs one line when a shard falls behind, and one when it has caught up', () => {
  const lines: string[] = [];
  const say =
    (level: string) =>
    ({ shard }: { shard?: number }, message: string): void =>
      void lines.push(`${level} ${shard} ${message}`);
  const behind = new BehindLog({ info: say('info'), warn: say('warn'), error: say('error') });
  for (const waitingMs of [null, 900, 4_900, 5_100, 7_000, 3_000, 1_500, 200, null, 300]) behind.note(3, waitingMs);
  behind.note(4, null);
  expect(lines).toEqual([
    'warn 3 storing events in Postgres falls behind; nothing is lost',
    'info 3 storing events in Postgres has caught up',
  ]);
  behind.note(3, 6_000);
  expect(lines).toHaveLength(3);
});
