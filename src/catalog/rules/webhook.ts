import type { Catalog, Webhook } from '../../domain/catalog.ts';
import { signatureHeaderProblem } from '../../domain/webhook-header.ts';
import { targetProblem } from '../webhook-target.ts';
import { problem, refers, type Problem } from './problem.ts';

/** Settings by the operator of the installation. */
export interface RuleSettings {
  /** Whether webhooks may name private, loopback and link-local addresses. */
  webhookAllowPrivate: boolean;
}

/** The rules of a webhook. A host name is resolved and checked only when something is sent. */
export function* webhookProblems(
  { url, events, header, filter }: Webhook,
  { catalog, settings }: { catalog: Catalog; settings: RuleSettings },
): Generator<Problem> {
  if (events.length === 0) yield problem('events', 'must name at least one event');
  if (new Set(events).size < events.length) yield problem('events', 'must not name anything twice');
  yield* urlProblems(url, settings);
  const headerProblem = typeof header === 'string' ? signatureHeaderProblem(header) : null;
  if (headerProblem !== null) yield problem('header', headerProblem);
  const { metrics, leaderboards, pointsSystems } = catalog;
  yield* filterProblems('metricIds', filter?.metricIds, { among: metrics, noun: 'metric' });
  yield* filterProblems('leaderboardIds', filter?.leaderboardIds, { among: leaderboards, noun: 'leaderboard' });
  yield* filterProblems('pointsSystemIds', filter?.pointsSystemIds, { among: pointsSystems, noun: 'points system' });
}

function* filterProblems(
  list: 'metricIds' | 'leaderboardIds' | 'pointsSystemIds',
  ids: readonly string[] | undefined,
  known: { among: { id: string }[]; noun: string },
): Generator<Problem> {
  for (const [index, id] of (ids ?? []).entries()) yield* refers(`filter.${list}[${index}]`, id, known);
  if (ids !== undefined && new Set(ids).size < ids.length)
    yield problem(`filter.${list}`, 'must not name anything twice');
}

function* urlProblems(text: string, { webhookAllowPrivate }: RuleSettings): Generator<Problem> {
  if (!URL.canParse(text)) return yield problem('url', 'must be a URL that begins with http:// or https://');
  const wrong = targetProblem(new URL(text), { privateTargets: webhookAllowPrivate });
  if (wrong !== null) yield problem('url', wrong);
}
