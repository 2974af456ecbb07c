import type { Leaderboard } from '../../domain/catalog.ts';
import { dateOf, DAY_MS, dayOf } from '../../domain/periods.ts';
import { playedRule, runOf } from '../../domain/runs.ts';
import type { Caused } from '../../domain/timeline.ts';
import { zoneOffset } from '../../domain/zone.ts';
import type { Then } from '../../postgres/timeline/catalog-then.ts';
import type { CatalogThen } from './catalog-then.ts';
import type { Happening } from './happening.ts';

/** What decides, beside the rule of then, whether something counts on a board: history does not know what it was. */
export interface UserNow {
  tz: string | null;
  /** IDs of the attributes that the user has. */
  attributeIds: ReadonlySet<string>;
}

interface Scored {
  localDay: number;
  secondOfDay: number;
  metricId: string | undefined;
  happening: Happening;
}

/** How much something moved the user's scores on leaderboards, as these were configured then; ranks are not kept. */
export function scoresOf(
  then: CatalogThen,
  happening: Happening,
  { when, user }: { when: Then; user: UserNow },
): Caused[] {
  const { event, awards } = happening;
  const localDate = event?.localDate ?? awards[0]?.localDate;
  if (localDate === undefined) return [];
  const offsetMs = (user.tz === null ? 0 : (zoneOffset(user.tz, when.atMs)?.offsetSeconds ?? 0)) * 1000;
  const scored: Scored = {
    localDay: dayOf(localDate),
    secondOfDay: Math.floor(((((when.atMs + offsetMs) % DAY_MS) + DAY_MS) % DAY_MS) / 1000),
    metricId: event === null ? undefined : then.byNo(event.metricNo)?.id,
    happening,
  };
  return then.there('leaderboard', when.atMs).flatMap((resource) => {
    const board = then.at(resource, when).doc as Leaderboard;
    const change = changeOf(then, board, scored);
    const run = change === 0 || !counts(board, scored, user) ? null : runOf(playedRule(board), scored.localDay);
    return run === null
      ? []
      : [{ kind: 'leaderboard' as const, leaderboard: then.named(resource.id), run: dateOf(run.startDay), change }];
  });
}

function counts(board: Leaderboard, { secondOfDay }: Scored, { attributeIds }: UserNow): boolean {
  if (board.status !== 'active' && board.status !== 'scheduled') return false;
  if (board.breakdownAttributes.some((id) => !attributeIds.has(id))) return false;
  if (board.startTime !== null && secondOfDay < secondOf(board.startTime)) return false;
  return board.endTime === null || secondOfDay < secondOf(board.endTime);
}

function changeOf(then: CatalogThen, board: Leaderboard, { metricId, happening: { event, awards } }: Scored): number {
  switch (board.rankBy) {
    case 'metric':
      return board.metricId === metricId ? (event?.value ?? 0) : 0;
    case 'points':
      return awards
        .filter(({ systemNo }) => then.byNo(systemNo)?.id === board.pointsSystemId)
        .reduce((sum, { awarded }) => sum + awarded, 0);
    case 'streak':
      return event?.streak ? 1 : 0;
  }
}

const secondOf = (time: string): number =>
  time.split(':').reduce((seconds, part, index) => seconds + Number(part) * [3600, 60, 1][index]!, 0);
