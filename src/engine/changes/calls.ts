import type { Span } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import type { TenantPart } from '../../redis/keys.ts';
import type { JoinedCalls } from '../../redis/script.ts';
import type { Scripts } from '../scripts.ts';
import { type Calls, COMMIT_SCRIPT, maybeStored, READ_SCRIPT } from './change-users.ts';

/**
 * The calls of a change that are retried when the connection breaks: the commit finds out whether its first try was applied.
 * `foundElsewhere`: see `PartCall`. With `joined`, reads and the first commit join those of other tenants, and the caller waits for
 * replicas.
 */
export function callsOf(
  scripts: Scripts,
  part: TenantPart,
  options: {
    spans?: readonly Span[] | undefined;
    joined?: { reads: JoinedCalls; commits: JoinedCalls } | undefined;
    events?: number;
    foundElsewhere?: () => Promise<boolean>;
  } = {},
): Calls {
  const { spans, joined, events = 0, foundElsewhere } = options;
  return {
    recent: scripts.recent,
    read: async (call) =>
      (await scripts.callPart(part, {
        script: READ_SCRIPT,
        joined: joined?.reads,
        isAcknowledgedLater: true,
        keysAndArgs: () => call,
        maybeStored: () => null,
      }))!,
    commit: (call) =>
      scripts.callPart(part, {
        script: COMMIT_SCRIPT,
        joined: joined?.commits,
        isAcknowledgedLater: joined !== undefined,
        spans,
        events,
        keysAndArgs: ({ retryPosition }) => call(retryPosition),
        maybeStored,
        ...(foundElsewhere && { foundElsewhere }),
      }),
  };
}

/**
 * The calls of a change that are sent once, for work that is repeated as a whole if it fails. `onWritten`: called after a commit that
 * wrote. `around`: makes the call of a commit.
 */
export function callsOnce(
  redis: Redis,
  options: { onWritten?: () => void; around?: (run: () => Promise<unknown>) => Promise<unknown> } = {},
): Calls {
  const { onWritten = () => undefined, around = (run) => run() } = options;
  return {
    read: async ({ keys, args }) => {
      const replies = (await READ_SCRIPT.run(redis, keys, args)) as Buffer[];
      replies.pop();
      return replies;
    },
    commit: async (call) => {
      const { keys, args } = call('');
      const replies = (await around(() => COMMIT_SCRIPT.run(redis, keys, args))) as Buffer[];
      if (replies.pop()!.length > 0) onWritten();
      return replies;
    },
  };
}
