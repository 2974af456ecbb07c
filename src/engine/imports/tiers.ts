import type { ImportedUser } from '../../domain/imported-user.ts';
import { BadImport, type Draft } from './draft.ts';

/** Adds the user's tiers on leaderboards with leagues. Throws BadImport for a tier that the leaderboard does not have. */
export function addTiers({ compiled, tiers, skipped }: Draft, { leaderboards = {} }: ImportedUser): void {
  for (const [key, { tier }] of Object.entries(leaderboards)) {
    if (tier === undefined) continue;
    const field = `leaderboards.${key}.tier`;
    const board = compiled.catalog.leaderboards.find((one) => one.key === key);
    if (board === undefined) skipped.push({ field, reason: 'no leaderboard has this key', days: 0 });
    else if (board.leagues === null) skipped.push({ field, reason: 'the leaderboard has no leagues', days: 0 });
    else if (tier > board.leagues.tiers.length)
      throw new BadImport(`${field}: the leaderboard has only ${board.leagues.tiers.length} tiers.`);
    // Users are in the lowest tier until they leave it.
    else if (tier > 1) tiers.push({ boardNo: board.no, tier: tier - 1 });
  }
}
