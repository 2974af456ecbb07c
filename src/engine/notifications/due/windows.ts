import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Notification, NotificationSubject } from '../../../domain/notifications/notification.ts';
import {
  closeWindows,
  type EndedWindow,
  endWindowsAhead,
  firstEndedWindow,
  reopenWindows,
  type ReportedWindow,
  takeEndedWindows,
  tenantsWithEndedWindows,
} from '../../../postgres/notifications/windows.ts';
import { wantingTenants } from '../../../postgres/notifications/due.ts';
import { type ScheduledWork, workInPieces } from '../../schedule/due-work.ts';
import { type OnPieceFailed, Pieces, tenantPiece } from '../../schedule/pieces.ts';
import { listenersOf } from '../listeners.ts';
import { mergedPayload, movedBoard, type RankPayload, THROTTLED } from '../throttles.ts';
import type { BoardRankings } from './board-rankings.ts';
import type { Publisher } from './publisher.ts';

/** Windows in a transaction; the shard's persister waits for it. */
const AT_ONCE = 500;
/** Approximate maximum duration of a piece of work. */
const WORK_MS = 2_000;

/** The report at the end of a window. `payload` is `null` until its rankings are read. */
interface Report {
  window: EndedWindow;
  notification: Notification;
}

/**
 * Flushes the windows of `throttle` that are over. The changes that wait in a window are reported as one message and
 * start the next window. A window ends silently without changes, if a rank is back at the reported one, or if no
 * receiver wants it any longer. The transaction that stores the messages locks the rows, so concurrent workers and
 * crashes neither duplicate nor lose any.
 */
export function createWindows(
  publisher: Publisher,
  rankings: Pick<BoardRankings, 'changed'>,
  onFailed?: OnPieceFailed,
): ScheduledWork {
  const pieces = new Pieces({ kind: 'windows of notifications', onFailed });

  async function due(upToMs: number): Promise<number | null> {
    const { pool } = publisher;
    return (await upcoming(upToMs)) ?? ((await endWindowsAhead(pool, upToMs)) ? upToMs : null);
  }

  function upcoming(untilMs: number): Promise<number | null> {
    return firstEndedWindow(publisher.pool, untilMs, pieces.tenantNos);
  }

  async function perform(dueMs: number, ending: AbortSignal, beforeMs: number, upToMs: number): Promise<void> {
    const { pool } = publisher;
    const endedMs = Math.max(dueMs, beforeMs - 1);
    const endMs = performance.now() + WORK_MS;
    const wanting = await wantingTenants(pool, THROTTLED);
    const versions = new Map(wanting.map(({ tenantNo, version }) => [tenantNo, version]));
    const goesOn = (): boolean => !ending.aborted && performance.now() < endMs;
    for (const tenantNo of await tenantsWithEndedWindows(pool, endedMs, AT_ONCE)) {
      if (pieces.isAside(String(tenantNo)) || !goesOn()) continue;
      await pieces.attempt(tenantPiece(tenantNo), ending, async () => {
        const compiled = await publisher.catalog(tenantNo, versions.get(tenantNo) ?? 0);
        while (goesOn() && (await flush(compiled, { endedMs, nowMs: upToMs })) === AT_ONCE);
      });
    }
  }

  /** Flushes some windows of a tenant. Returns their number. */
  async function flush(compiled: CompiledCatalog, at: { endedMs: number; nowMs: number }): Promise<number> {
    const { tenantNo } = compiled.catalog;
    const boards: Report[] = [];
    let count = 0;
    await publisher.publish(compiled, at.nowMs, async (client) => {
      const ended = await takeEndedWindows(client, { tenantNo, upToMs: at.endedMs, limit: AT_ONCE });
      count = ended.length;
      const reports = ended.flatMap((window) => report(compiled, window) ?? []);
      boards.push(...reports.filter(({ window }) => window.type === 'leaderboard.changed'));
      const others = reports.filter(({ window }) => window.type !== 'leaderboard.changed');
      const kept = new Set(reports.map(({ window }) => window));
      await closeWindows(
        client,
        tenantNo,
        ended.filter((window) => !kept.has(window)),
      );
      await reopenWindows(
        client,
        tenantNo,
        others.map(({ window }) => reported(window)),
        at.nowMs,
      );
      return others.map(({ notification }) => notification);
    });
    // Read rankings without holding the cursor. A change in the meantime waits in the next window.
    for (const { window, notification } of boards) {
      const place = movedBoard(notification);
      const payload = await rankings.changed(publisher.pool, compiled, place, at.nowMs);
      await publisher.publish(compiled, at.nowMs, async (client) => {
        if (payload === null) await closeWindows(client, tenantNo, [window]);
        else await reopenWindows(client, tenantNo, [reported(window)], at.nowMs);
        return payload === null ? [] : [{ ...notification, payload }];
      });
    }
    return count;
  }

  return workInPieces(pieces, { due, upcoming, perform, seesItself: true });
}

export type Windows = ReturnType<typeof createWindows>;

/** The report of a window that is over; `null` if there is nothing to report. */
function report(compiled: CompiledCatalog, window: EndedWindow): Report | null {
  const { type, source, atMs, payload, userId } = window;
  if (payload === null || source === null || atMs === null) return null;
  const about = JSON.parse(window.about ?? '{}') as NotificationSubject;
  if (!listenersOf(compiled).wants(type, about)) return null;
  const isRank = type === 'leaderboard.rank_changed';
  if (isRank && (JSON.parse(payload) as RankPayload).leaderboard.rank === window.rank) return null;
  const merged = mergedPayload({
    type,
    payload,
    added: window.added ?? 0,
    awards: window.awards ?? '',
    level: window.level ?? '',
    previous: isRank ? { rank: window.rank, value: window.value } : null,
  });
  const { tenantNo } = compiled.catalog;
  const notification = { type, tenantNo, userId: userId || null, atMs, source, about, payload: merged };
  return { window, notification };
}

function reported({ type, userId, subject, source, payload }: EndedWindow): ReportedWindow {
  const isRank = type === 'leaderboard.rank_changed';
  const { rank, value } = isRank ? (JSON.parse(payload!) as RankPayload).leaderboard : { rank: null, value: null };
  return { userId, subject, source: source!, rank, value };
}
