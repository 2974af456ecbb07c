/** Compares pages of users with everything that Redis derives from their states. */
import type { Pool } from 'pg';
import type { StoredUser } from '../../postgres/users/stored-states.ts';
import type { TenantPart } from '../../redis/keys.ts';
import { knownPart } from '../../redis/parts.ts';
import type { User } from '../../rules/user.ts';
import type { Sides, Suspect } from './confirmation.ts';
import { Generations, readState, TeamSums } from './derived-keys.ts';
import { QuestsOfTenants, suspectQuests } from './quests.ts';
import { SetMembers } from './set-members.ts';
import { suspectLeagueUsers } from './suspect-leagues.ts';
import { suspectRewards } from './suspect-rewards.ts';
import { suspectUsers } from './suspect-users.ts';

/** What a verification notes of the users it compares, for its later steps. */
export interface Noted {
  members: SetMembers;
  teams: TeamSums;
  generations: Generations;
  quests: QuestsOfTenants;
}

export const nothingNoted = (pool: Pool): Noted => ({
  members: new SetMembers(),
  teams: new TeamSums(),
  generations: new Generations(),
  quests: new QuestsOfTenants(pool),
});

export interface ComparedUsers {
  suspects: Suspect[];
  readable: { part: TenantPart; state: User }[];
  /** Users whose stored states cannot be read. */
  unreadable: StoredUser[];
}

/** Differences about those of some users whom the shards hold; adds to `noted`. */
export async function compareUsers(sides: Sides, users: readonly StoredUser[], noted: Noted): Promise<ComparedUsers> {
  const own: StoredUser[] = [];
  const ownReadable: StoredUser[] = [];
  const readable: ComparedUsers['readable'] = [];
  const unreadable: StoredUser[] = [];
  for (const user of users) {
    const part = knownPart(sides.redis, user.tenantNo, user.id);
    if (!sides.shards.includes(part.shard)) continue;
    own.push(user);
    const state = readState(user);
    if (state === null) {
      unreadable.push(user);
      continue;
    }
    noted.generations.note(part, user.id, state);
    ownReadable.push(user);
    readable.push({ part, state });
  }
  const suspects = [
    ...(await suspectUsers(sides, own, noted)),
    ...(await suspectQuests(sides, noted.quests, ownReadable)),
    ...(await suspectRewards(sides, ownReadable)),
    ...(await suspectLeagueUsers(sides, ownReadable)),
  ];
  return { suspects, readable, unreadable };
}
