/** The state of the screen: the view, one resource of it, the range and the segment. Kept in the address, so that it can be shared. */
export interface AnalyticsSearch {
  view?: View;
  id?: string;
  from?: string;
  to?: string;
  /** `control`, `others`, or an attribute and its value as `key:value`. */
  segment?: string;
}

export const VIEWS = [
  'users',
  'retention',
  'metrics',
  'achievements',
  'points',
  'streaks',
  'leaderboards',
  'messages',
] as const;
export type View = (typeof VIEWS)[number];

export const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The valid parts of an address. */
export function analyticsSearch({ view, id, from, to, segment }: Record<string, unknown>): AnalyticsSearch {
  const known = VIEWS.find((one) => one === view);
  return {
    ...(known !== undefined && { view: known }),
    ...(typeof id === 'string' && { id }),
    ...(typeof from === 'string' && DAY.test(from) && { from }),
    ...(typeof to === 'string' && DAY.test(to) && { to }),
    ...(typeof segment === 'string' && { segment }),
  };
}
