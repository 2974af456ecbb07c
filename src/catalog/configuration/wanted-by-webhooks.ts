import type { Catalog, WebhookFilter } from '../../domain/catalog.ts';
import { webhooksFor } from '../rules/referrers.ts';
import type { DocumentProblem } from './references.ts';

const LISTS = [
  ['metrics', 'metricIds'],
  ['leaderboards', 'leaderboardIds'],
  ['pointsSystems', 'pointsSystemIds'],
] as const satisfies [keyof Catalog, keyof WebhookFilter][];

/**
 * What a document leaves out though the filter of a webhook names it. A document does not hold webhooks, so it cannot
 * take them out of a filter either.
 */
export const wantedByWebhooks = (before: Catalog, after: Catalog): DocumentProblem[] =>
  LISTS.flatMap(([path, list]) => {
    const left = new Set(after[path].map(({ id }) => id));
    return before[path].flatMap(({ id, key }) => {
      const wanting = left.has(id) ? [] : webhooksFor(list, id, after);
      return wanting.length === 0
        ? []
        : [
            {
              path,
              text: `must keep '${key}', which the filter of ${wanting.join(', ')} names: change the filter first`,
            },
          ];
    });
  });
