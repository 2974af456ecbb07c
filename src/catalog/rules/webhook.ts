import { isIP } from 'node:net';
import type { Webhook } from '../../domain/catalog.ts';
import { isPublicAddress } from '../public-address.ts';
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
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    return yield problem('url', 'must be a URL that begins with http:// or https://');
  if (url.username !== '' || url.password !== '')
    yield problem('url', 'must not hold a user name or password: the signature says who sends');
  if (url.hash !== '') yield problem('url', 'must not have a fragment (#…): it would not be sent');
  if (!privateWebhooks && isPrivate(url.hostname))
    yield problem('url', 'must not be a private, loopback or link-local address (WEBHOOK_ALLOW_PRIVATE=1 allows it)');
}

/** `host` as a parsed URL has it: numeric addresses in their usual form, IPv6 in brackets. */
function isPrivate(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(address) !== 0) return !isPublicAddress(address);
  // Names that stand for this machine by definition.
  return /(^|\.)localhost\.?$/.test(host);
}
