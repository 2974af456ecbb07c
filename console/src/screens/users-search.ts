/** The state of the list of users in the address: a search, or filters. */
export interface UsersSearch {
  search?: string;
  order?: 'desc';
  /** `key:value` of a user attribute. */
  attribute?: string;
  /** `system:level`, by their keys. */
  level?: string;
  streak?: number;
  seen?: Seen;
}

export type Seen = 'day' | 'week' | 'month' | 'not-week' | 'not-month';
export const SEEN: Readonly<Record<Seen, string>> = {
  day: 'in the last 24 hours',
  week: 'in the last 7 days',
  month: 'in the last 30 days',
  'not-week': 'not in the last 7 days',
  'not-month': 'not in the last 30 days',
};

const textOf = (value: unknown): string | undefined =>
  (typeof value === 'string' || typeof value === 'number') && value !== '' ? String(value) : undefined;

/** Reads the address; ignores unknown parts. */
export function usersSearch(raw: Record<string, unknown>): UsersSearch {
  const [search, attribute, level] = [textOf(raw['search']), textOf(raw['attribute']), textOf(raw['level'])];
  const streak = Number(raw['streak'] ?? 0);
  const seen = raw['seen'];
  return {
    ...(search !== undefined && { search }),
    ...(raw['order'] === 'desc' && { order: 'desc' }),
    ...(attribute !== undefined && { attribute }),
    ...(level !== undefined && { level }),
    ...(Number.isInteger(streak) && streak > 0 && { streak }),
    ...(typeof seen === 'string' && seen in SEEN && { seen: seen as Seen }),
  };
}

export const hasFilters = ({ attribute, level, streak, seen }: UsersSearch): boolean =>
  [attribute, level, streak, seen].some((filter) => filter !== undefined);
