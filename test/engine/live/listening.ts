import { createSecretKey } from 'node:crypto';
import { LiveListener } from '../../../src/engine/live/stream-listener.ts';
import type { LiveMessage } from '../../../src/engine/live/stream-sink.ts';
import { MessageIds, type ParsedId } from '../../../src/engine/live/stream-message-id.ts';

export const IDS = new MessageIds(createSecretKey(Buffer.alloc(32, 7)));

/** The contents of a message's ID. */
export const read = (id: string): ParsedId => IDS.parse(id)!.authentic!;

/** A stream of ada's that names leaderboards, and what it sent. */
export function listening(boardIds: string[]): { listener: LiveListener; sent: LiveMessage[] } {
  const sent: LiveMessage[] = [];
  const listener = new LiveListener({
    grant: {
      tenantNo: 0,
      prefix: '',
      rateLimit: null,
      kind: 'application',
      userId: 'ada',
      boardIds,
      types: null,
      metricIds: null,
      leaderboardIds: null,
      pointsSystemIds: null,
    },
    key: { digest: '', expiresMs: null, sessionEndsMs: null },
    session: 's'.repeat(22),
    sink: {
      send: (messages) => void sent.push(...messages),
      heartbeat: () => undefined,
      end: () => undefined,
      drained: () => Promise.resolve(),
    },
    ids: IDS,
    onSent: () => undefined,
  });
  listener.digest = 'd'.repeat(8);
  return { listener, sent };
}
