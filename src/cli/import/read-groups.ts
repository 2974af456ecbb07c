import type { ImportedUser } from '../../domain/imported-user.ts';
import { SourceRefusal } from './source-refusal.ts';

type Ask = (path: string) => Promise<unknown>;
type Groups = NonNullable<ImportedUser['leaderboards']>;
/** Values of the breakdown attributes of a board, by key. */
type Values = Record<string, string>;

/** The most groups of a board that are asked for one user. */
const MOST_TRIED = 50;

/** The boards with a breakdown, and the groups in which users are: the contract lists them nowhere. */
export class BoardGroups {
  readonly boards: readonly { key: string; attributes: readonly string[] }[];
  private readonly seen = new Map<string, Map<string, Values>>();

  /** @param boards of a configuration document */
  constructor(boards: readonly { key: string; breakdownAttributes?: readonly string[] }[]) {
    this.boards = boards.flatMap(({ key, breakdownAttributes: attributes = [] }) =>
      attributes.length === 0 ? [] : [{ key, attributes }],
    );
  }

  /** Notes the groups of a user's attributes. */
  see(attributes: Values): void {
    for (const { key, attributes: names } of this.boards) {
      const values = valuesOf(names, attributes);
      if (values === null) continue;
      const seen = this.seen.get(key) ?? new Map<string, Values>();
      this.seen.set(key, seen.set(JSON.stringify(values), values));
    }
  }

  /** Groups of a board that were seen, without one. */
  others(key: string, own: Values | null): Values[] {
    const seen = new Map(this.seen.get(key));
    seen.delete(JSON.stringify(own));
    return [...seen.values()].slice(0, MOST_TRIED);
  }
}

/** The user's values of all attributes; `null` if one is missing. */
function valuesOf(names: readonly string[], attributes: Values): Values | null {
  const values = names.map((name) => [name, attributes[name]] as const);
  return values.some(([, value]) => value === undefined) ? null : (Object.fromEntries(values) as Values);
}

/**
 * Finds the boards that rank a user in another group than that of the attributes: they changed, and no event has moved the score since.
 * `ungrouped`: boards that rank the user in no group that was seen so far; more may have been seen later. One request a board, and
 * two or more for users who are not ranked in their own group. Throws SourceRefusal where the source does not answer.
 */
export async function readGroups(
  ask: Ask,
  groups: BoardGroups | undefined,
  { userId, attributes }: { userId: string; attributes: Values },
): Promise<{ groups: Groups; ungrouped: string[] }> {
  const found: Groups = {};
  const ungrouped: string[] = [];
  groups?.see(attributes);
  for (const { key, attributes: names } of groups?.boards ?? []) {
    const own = valuesOf(names, attributes);
    const isIn = (values: Values): Promise<boolean> => isRankedIn(ask, { key, userId, values });
    // The filter separates pairs by commas: such a group cannot be asked for.
    if (own !== null && (Object.values(own).some((value) => value.includes(',')) || (await isIn(own)))) continue;
    const path = `/v1/users/${encodeURIComponent(userId)}/leaderboards/${encodeURIComponent(key)}`;
    const place = (await answerOrNull(ask(path))) as { rank: number | null } | null;
    if (place === null || place.rank === null) continue;
    let group: Values | undefined;
    for (const values of groups!.others(key, own))
      if (await isIn(values)) {
        group = values;
        break;
      }
    if (group === undefined) ungrouped.push(key);
    else found[key] = { group };
  }
  return { groups: found, ungrouped };
}

async function isRankedIn(
  ask: Ask,
  { key, userId, values }: { key: string; userId: string; values: Values },
): Promise<boolean> {
  const filter = Object.entries(values)
    .map(([name, value]) => `${name}:${value}`)
    .join(',');
  const query = new URLSearchParams({ limit: '1', userId, userAttributes: filter });
  const page = (await answerOrNull(ask(`/v1/leaderboards/${encodeURIComponent(key)}?${query.toString()}`))) as {
    rankings: { userId: string }[];
  } | null;
  return page?.rankings[0]?.userId === userId;
}

/** `null` for a refusal of the request itself: there is no such board or group. */
async function answerOrNull(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof SourceRefusal && (error.status === 404 || error.status === 422)) return null;
    throw error;
  }
}
