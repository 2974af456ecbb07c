import type { Webhook } from '../../domain/catalog.ts';
import { targetProblem } from '../webhook-target.ts';
import { named, problem, type Problem } from './problem.ts';

const NAME_LENGTH = 255;
const URL_LENGTH = 2_048;

/** What the operator of this Laurel allows. */
export interface RuleSettings {
  /** Whether webhooks may name private, loopback and link-local addresses. */
  privateWebhooks: boolean;
}

/** The rules of a webhook. What a host's name stands for is looked at when something is sent to it. */
export function* webhookProblems({ name, url, events }: Webhook, settings: RuleSettings): Generator<Problem> {
  yield* named(name);
  if (name.length > NAME_LENGTH) yield problem('name', `must have at most ${NAME_LENGTH} characters`);
  if (events.length === 0) yield problem('events', 'must name at least one event');
  if (new Set(events).size < events.length) yield problem('events', 'must not name anything twice');
  yield* urlProblems(url, settings);
}

function* urlProblems(text: string, { privateWebhooks }: RuleSettings): Generator<Problem> {
  if (text.length > URL_LENGTH) return yield problem('url', `must have at most ${URL_LENGTH} characters`);
  if (!URL.canParse(text)) return yield problem('url', 'must be a URL that begins with http:// or https://');
  const wrong = targetProblem(new URL(text), { privateTargets: privateWebhooks });
  if (wrong !== null) yield problem('url', wrong);
}
