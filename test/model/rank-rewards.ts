import type { Catalog, Leaderboard } from '../../src/domain/catalog.ts';
import { standings } from './boards.ts';
import { addDays, runOf, type Run } from './calendar.ts';
import { named } from './conditions.ts';
import { finalMs, firstOpen } from './leagues.ts';
import { matches, type ModelUser } from './user.ts';

/** Rewards of final ranks, as docs/rank-rewards.md describes them. */

type Rules = Pick<Catalog, 'triggers' | 'achievements'>;
type Rule = Rules['triggers'][number] | Rules['achievements'][number];

/** The rules for final ranks of a leaderboard. */
const rulesOf = ({ triggers, achievements }: Rules, board: Leaderboard): Rule[] =>
  [...triggers, ...achievements].filter(
    ({ status, leaderboardId }) => status === 'active' && leaderboardId === board.id,
  );

export const isRewarded = (rules: Rules, board: Leaderboard): boolean =>
  board.status === 'active' && rulesOf(rules, board).length > 0;

/** A user with a rank, and the IDs of the rules for it. */
interface Rewarded {
  user: ModelUser;
  rules: string[];
}

interface World {
  catalog: Catalog;
  users: Map<string, ModelUser>;
}

/** The runs of rewarded leaderboards that become final after a time and not after another one, in order. */
export function runsToReward(
  catalog: Catalog,
  { afterMs, toMs }: { afterMs: number; toMs: number },
): { board: Leaderboard; run: Run }[] {
  const found: { board: Leaderboard; run: Run }[] = [];
  for (const board of catalog.leaderboards.filter((each) => isRewarded(catalog, each)))
    for (
      let run = firstOpen(board, afterMs);
      run !== null && finalMs(run) <= toMs;
      run = runOf(board, addDays(run.end!, 1))
    )
      found.push({ board, run });
  return found.toSorted((a, b) => finalMs(a.run) - finalMs(b.run) || a.board.no - b.board.no);
}

/** Who of a final run is rewarded. */
export function rewardedIn(world: World, board: Leaderboard, run: Run): Rewarded[] {
  const groups = board.breakdownAttributes.length === 0 ? [{}] : [{ plan: 'free' }, { plan: 'pro' }];
  return groups.flatMap((group) => {
    const places = standings(world, board, { run, group });
    return places.map(({ userId, rank }) => {
      const user = world.users.get(userId)!;
      const rules = rulesOf(world.catalog, board).filter(
        ({ rankFrom, rankTo, rankPercent, userAttributes }) =>
          rank >= (rankFrom ?? 1) &&
          rank <= (rankTo ?? Math.ceil((places.length * rankPercent!) / 100)) &&
          matches(user.attributes, named(world.catalog, userAttributes)),
      );
      return { user, rules: rules.map(({ id }) => id) };
    });
  });
}
