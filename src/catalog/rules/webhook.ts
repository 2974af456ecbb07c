import type { Catalog, Webhook } from '../../domain/catalog.ts';
import { targetProblem } from '../webhook-target.ts';
import { named, problem, refers, type Problem } from './problem.ts';

/** A header's name (RFC 9110, token). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;
/** Names that HTTP, a proxy or Laurel gives another meaning; `x-laurel-signature` is what the header is called anyway. */
const TAKEN_HEADER =
  /^(?:accept(?:-.*)?|age|allow|alt-svc|authorization|cache-control|connection|content-.*|cookie2?|date|expect|expires|forwarded|from|host|http2-settings|if-.*|keep-alive|max-forwards|origin|pragma|priority|proxy-.*|range|referer|sec-.*|server|set-cookie2?|te|trailer|transfer-encoding|upgrade|user-agent|via|warning|webhook-.*|x-forwarded-.*|x-real-ip)$/i;

/** What the operator of this Laurel allows. */
export interface RuleSettings {
  /** Whether webhooks may name private, loopback and link-local addresses. */
  webhookAllowPrivate: boolean;
}

/** The rules of a webhook. What a host's name stands for is looked at when something is sent to it. */
export function* webhookProblems(
  { name, url, events, header, filter }: Webhook,
  { catalog, settings }: { catalog: Catalog; settings: RuleSettings },
): Generator<Problem> {
  yield* named(name);
  if (events.length === 0) yield problem('events', 'must name at least one event');
  if (new Set(events).size < events.length) yield problem('events', 'must not name anything twice');
  yield* urlProblems(url, settings);
  if (typeof header === 'string') yield* headerProblems(header);
  const { metrics, leaderboards, pointsSystems } = catalog;
  yield* filterProblems('metricIds', filter?.metricIds, { among: metrics, noun: 'metric' });
  yield* filterProblems('leaderboardIds', filter?.leaderboardIds, { among: leaderboards, noun: 'leaderboard' });
  yield* filterProblems('pointsSystemIds', filter?.pointsSystemIds, { among: pointsSystems, noun: 'points system' });
}

function* headerProblems(header: string): Generator<Problem> {
  if (!TOKEN.test(header))
    yield problem('header', "must be the name of an HTTP header: at most 64 letters, digits and !#$%&'*+-.^_`|~");
  else if (TAKEN_HEADER.test(header)) yield problem('header', `'${header}' has another meaning: take one of your own`);
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
