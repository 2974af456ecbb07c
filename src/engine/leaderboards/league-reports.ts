import type { Redis } from 'ioredis';
import { type CompiledCatalog, withDeleted } from '../../catalog/compiled-catalog.ts';
import { tierOf } from '../../domain/leagues.ts';
import type { Notification } from '../../domain/notifications/notification.ts';
import { epochDay } from '../../domain/periods.ts';
import { boardStatus } from '../../domain/runs.ts';
import {
  noteMovesReported,
  type UnreportedMove,
  unreportedMoves,
  unreportedTenants,
} from '../../postgres/boards/league-closings.ts';
import { readOrganisation } from '../../postgres/organisation.ts';
import { packedUsers } from '../../redis/parts.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { withTimeLimit } from '../../pacing/time-limit.ts';
import type { Publisher } from '../notifications/due/publisher.ts';
import { tierChanged, userJson } from '../notifications/payloads.ts';
import { type ScheduledWork, workInPieces } from '../schedule/due-work.ts';
import { type OnPieceFailed, Pieces, tenantPiece } from '../schedule/pieces.ts';

/** Changes in a transaction, which holds the cursors of the tenant's shards. */
const AT_ONCE = 200;
/** After this time the rest is left to the next call. */
const LONG_MS = 5_000;

/** Reports users who moved to other tiers, once each, with their present states. */
export function createLeagueReports(redis: Redis, publisher: Publisher, onFailed?: OnPieceFailed): ScheduledWork {
  const pieces = new Pieces({ kind: 'reports about leagues', onFailed });

  async function due(upToMs: number): Promise<number | null> {
    const firstMs = Math.min(...(await owing()).map(({ atMs }) => atMs));
    return firstMs <= upToMs ? firstMs : null;
  }

  async function perform(_dueMs: number, called: AbortSignal, _beforeMs: number, upToMs: number): Promise<void> {
    const ending = withTimeLimit(called, LONG_MS);
    const wanting = await publisher.wanting(['leaderboard.tier_changed']);
    const isHeard = new Set(wanting.map(({ tenantNo }) => tenantNo));
    for (const tenant of await owing())
      await pieces.attempt(tenantPiece(tenant.tenantNo), ending, () =>
        report(tenant, isHeard.has(tenant.tenantNo), upToMs, ending),
      );
  }

  function owing(): ReturnType<typeof unreportedTenants> {
    return unreportedTenants(publisher.pool, pieces.tenantNos);
  }

  async function report(
    { tenantNo, version }: { tenantNo: number; version: number },
    isHeard: boolean,
    nowMs: number,
    ending: AbortSignal,
  ): Promise<void> {
    const compiled = await publisher.catalog(tenantNo, version);
    for (;;) {
      const moves = await unreportedMoves(publisher.pool, tenantNo, AT_ONCE);
      if (moves.length === 0 || ending.aborted) return;
      const notifications = isHeard ? await makeNotifications(compiled, moves) : new Map<number, Notification>();
      await publisher.publish(compiled, nowMs, async (client) => {
        const noted = await noteMovesReported(
          client,
          tenantNo,
          moves.map(({ no }) => no),
        );
        return [...noted].toSorted((a, b) => a - b).flatMap((no) => notifications.get(no) ?? []);
      });
    }
  }

  /** By number of the change. Omits those that nobody wants, and those of users who were deleted or whose leaderboard has no leagues. */
  async function makeNotifications(
    compiled: CompiledCatalog,
    moves: readonly UnreportedMove[],
  ): Promise<Map<number, Notification>> {
    const { tenantNo } = compiled.catalog;
    const ids = moves.map(({ userId }) => userId);
    const states = await packedUsers(redis, tenantNo, ids);
    const { controlShare } = await readOrganisation(publisher.pool);
    const boardNos = moves.map(({ boardNo }) => boardNo);
    const named = await withDeleted(publisher.pool, compiled, boardNos);
    const notifications = new Map<number, Notification>();
    for (const [at, move] of moves.entries()) {
      const { userId, no, boardNo, runDay, atMs, rank } = move;
      const board = named.leaderboardsByNo.get(boardNo);
      const packed = states[at];
      if (!packed || board === undefined || board.leagues === null) continue;
      const about = { leaderboardId: board.id };
      if (!publisher.wants(compiled, userId)('leaderboard.tier_changed', about)) continue;
      const user = userJson(compiled, { userId, state: decodeUser(packed), controlShare });
      const payload = tierChanged(
        user,
        { compiled: named, board, runDay, group: '' },
        {
          status: boardStatus(board, epochDay(atMs)) ?? 'finished',
          move: move.tier > move.tierBefore ? 'up' : 'down',
          tier: tierOf(board.leagues, move.tier),
          previousTier: tierOf(board.leagues, move.tierBefore),
          rank,
        },
      );
      notifications.set(no, {
        type: 'leaderboard.tier_changed',
        tenantNo,
        userId,
        atMs,
        source: String(no),
        about,
        payload,
      });
    }
    return notifications;
  }

  return workInPieces(pieces, { due, perform });
}
