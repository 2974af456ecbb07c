import { LiveListener } from '../../../src/engine/live/live-listener.ts';
import type { LiveMessage } from '../../../src/engine/live/live-sink.ts';

/** A stream of ada's that names boards, and what it sent. */
export function listening(boardIds: string[]): { listener: LiveListener; sent: LiveMessage[] } {
  const sent: LiveMessage[] = [];
  const listener = new LiveListener({
    grant: {
      tenantNo: 0,
      prefix: '',
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
    sink: { send: (messages) => void sent.push(...messages), heartbeat: () => undefined, end: () => undefined },
    onSent: () => undefined,
  });
  listener.digest = 'd'.repeat(8);
  return { listener, sent };
}
