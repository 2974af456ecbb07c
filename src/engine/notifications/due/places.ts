import type { PoolClient } from 'pg';
import { createHash } from 'node:crypto';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Notification } from '../../../domain/notification.ts';
import { enterWindows } from '../../../postgres/notifications/enter-windows.ts';
import {
  forgetBoard,
  knownPlaces,
  noteCompared,
  reportedPlaces,
  savePlaces,
  type KnownPlace,
  type MovedBoard,
  type ReportedPlace,
} from '../../../postgres/notifications/board-places.ts';
import { storedStates } from '../../../postgres/users/stored-states.ts';
import { RecordedUser } from '../recorded-user.ts';
import { listenersOf } from '../listeners.ts';
import { rankChanged } from '../payloads/leaderboards.ts';
import { throttledChange } from '../throttled-change.ts';
import type { BoardInPlay, BoardRankings } from './board-rankings.ts';
import type { Publisher } from './publisher.ts';

type Place = Pick<KnownPlace, 'rank' | 'value'>;

/** A user whose rank is not the one that was reported, or waits to be. */
export interface Overtaken {
  userId: string;
  now: Place | null;
  before: { rank: number | null; value: number | null };
}

/**
 * Who is to be told of another rank. What was reported in a window counts before what was compared last; what waits in one
 * counts where it is of another rank than now. Where nothing was compared before, those without a window are as they are:
 * nobody knows what they were. Pure.
 */
export function overtaken({
  now,
  known,
  reported,
}: {
  now: ReadonlyMap<string, Place>;
  known: ReadonlyMap<string, Place>;
  reported: ReadonlyMap<string, ReportedPlace>;
}): Overtaken[] {
  const found: Overtaken[] = [];
  for (const userId of new Set([...known.keys(), ...now.keys()])) {
    const place = now.get(userId) ?? null;
    const window = reported.get(userId);
    const before = window ?? known.get(userId) ?? (known.size === 0 ? place : null) ?? { rank: null, value: null };
    const latest = window?.waits === true ? window.waitingRank : before.rank;
    if (latest === (place?.rank ?? null)) continue;
    found.push({ userId, now: place, before: { rank: before.rank, value: before.value } });
  }
  return found;
}
