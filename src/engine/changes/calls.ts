import type { Span } from '@opentelemetry/api';
import type { TenantPart } from '../../redis/keys.ts';
import type { JoinedCalls } from '../../redis/script.ts';
import type { Scripts } from '../scripts.ts';
import { type Calls, COMMIT_SCRIPT, maybeStored, READ_SCRIPT } from './change-users.ts';

/** A tenant's part of commands that several tenants share. Call `end` when it has added its commit, or will not. */
export interface Turn {
  reads: JoinedCalls;
  commits: JoinedCalls;
  end: () => void;
}

/**
 * The calls of a change that are retried when the connection breaks: the commit finds out whether its first try was applied.
 * `foundElsewhere`: see `PartCall`. With `turn`, reads and the first commit join those of other tenants, and the caller waits for
 * replicas.
 */
export function callsOf(
  scripts: Scripts,
  part: TenantPart,
  {
    spans,
    turn,
    events = 0,
    foundElsewhere,
  }: {
    spans?: readonly Span[] | undefined;
    turn?: Turn | undefined;
    events?: number;
    foundElsewhere?: () => Promise<boolean>;
  } = {},
): Calls {
  return {
    read: async (call) =>
      (await scripts.callPart(part, {
        script: READ_SCRIPT,
        joined: turn?.reads,
        isAcknowledgedLater: true,
        keysAndArgs: () => call,
        maybeStored: () => null,
      }))!,
    commit: (call) => {
      const replies = scripts.callPart(part, {
        script: COMMIT_SCRIPT,
        joined: turn?.commits,
        isAcknowledgedLater: turn !== undefined,
        spans,
        events,
        keysAndArgs: ({ retryPosition }) => call(retryPosition),
        maybeStored,
        ...(foundElsewhere && { foundElsewhere }),
      });
      turn?.end();
      return replies;
    },
  };
}
