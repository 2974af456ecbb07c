import type { VerificationDifference } from '../../domain/administration/verification.ts';
import { namedState } from '../../packed/unpack-state.ts';
import { USER } from '../../packed/user-fields.ts';
import { tenantKey, type TenantKey } from '../../redis/keys.ts';
import { readState } from './derived-keys.ts';
import { COHORT } from './suspect-leagues.ts';
import { CLAIM_COUNT } from './suspect-rewards.ts';
import type { Difference } from './confirmation.ts';

const KINDS = {
  user: 'user',
  board: 'leaderboard',
  'board groups': 'leaderboardGroups',
  teams: 'leaderboardTeams',
  counters: 'counter',
  points: 'points',
  'idempotency keys': 'idempotencyKey',
  'old idempotency keys': 'idempotencyKey',
  quarantine: 'quarantine',
  aliases: 'mergedUsers',
} as const satisfies Record<NonNullable<TenantKey['kind']>, VerificationDifference['kind']>;

const MOST_CHARACTERS = 200;
/** An index contains keys and parts. */
const MOST_KEY_CHARACTERS = 500;

const short = (text: string, most = MOST_CHARACTERS): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text;

/** A difference as administrators see it: short, and of two states of a user the fields that differ. */
export function shownDifference(difference: Difference): VerificationDifference {
  const { key } = difference;
  const of = tenantKey(key);
  const kindOfKey = of?.kind ?? null;
  const kind = kindOfKey === null ? kindOfTable(key) : KINDS[kindOfKey];
  const { part, redis, postgres } =
    kind === 'user' ? ofStates(difference) : kind === 'quarantine' ? ofQuarantine(difference) : difference;
  return {
    kind,
    key: short(key, MOST_KEY_CHARACTERS),
    part: short(part, MOST_KEY_CHARACTERS),
    userId: userOf(kind, difference),
    redis: short(redis),
    postgres: short(postgres),
  };
}

const kindOfTable = (key: string): VerificationDifference['kind'] => {
  if (key.startsWith(COHORT)) return 'leagueCohort';
  return key.startsWith(CLAIM_COUNT) ? 'claims' : 'outbox';
};

/** The user concerned; `null` if it concerns no user. */
function userOf(kind: VerificationDifference['kind'], { key, part }: Difference): string | null {
  if (kind === 'user') return tenantKey(key)!.rest;
  return kind === 'leaderboard' || (kind === 'leagueCohort' && part !== '') ? part : null;
}

type Sides = Pick<Difference, 'part' | 'redis' | 'postgres'>;

/** The fields of a state by name; `null` for what is no state. */
function stateOf(hex: string): Record<string, unknown> | null {
  const state = Buffer.from(/^[0-9a-f]+$/.test(hex) ? hex : '', 'hex');
  return readState({ state }) === null ? null : namedState(state);
}

function ofStates({ part, redis, postgres }: Sides): Sides {
  const [inRedis, inPostgres] = [stateOf(redis), stateOf(postgres)];
  const shortOf = (text: string, state: object | null): string => (state === null ? text : 'stored');
  if (inRedis === null || inPostgres === null)
    return { part, redis: shortOf(redis, inRedis), postgres: shortOf(postgres, inPostgres) };
  const differing = Object.keys(USER).flatMap((name) => {
    const [here, there] = [inRedis, inPostgres].map((state) => JSON.stringify(state[name]));
    return here === there ? [] : [{ name, here, there }];
  });
  if (differing.length === 0) return { part: 'encoding', redis: 'stored', postgres: 'stored' };
  const text = (side: 'here' | 'there'): string =>
    differing.map(({ name, [side]: value }) => `${name}: ${value ?? 'nothing'}`).join(', ');
  return { part: differing.map(({ name }) => name).join(', '), redis: text('here'), postgres: text('there') };
}

/** Without the IDs of the users, so that their deletion leaves nothing. */
function ofQuarantine({ part, redis, postgres }: Sides): Sides {
  const counted = (text: string): string =>
    text === 'nothing' ? text : `${/(?:^|; )(\d+) in all/.exec(text)?.[1] ?? 'uncounted'} events`;
  return { part, redis: counted(redis), postgres: counted(postgres) };
}
