import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';
import type { Catalog, Webhook } from '../../domain/catalog.ts';
import type { NotificationSubject, NotificationType } from '../../domain/notifications/notification.ts';
import { isShortened } from '../../domain/fields/webhook.ts';
import { signatureHeaderProblem } from '../../domain/notifications/webhook.ts';
import { problem, type Problem, refers } from './problem.ts';

export interface RuleSettings {
  webhookAllowPrivate: boolean;
}

/** The rules of a webhook. A host name is resolved and checked only when something is sent. */
export function* webhookProblems(
  { url, events, header, filter }: Webhook,
  catalog: Catalog,
  settings: RuleSettings,
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
  const url = new URL(text);
  // Otherwise a program that reads with such a key, and writes with another, would lose the address.
  if (isShortened(url)) return yield problem('url', 'is shortened, as keys that may only read see it: send all of it');
  const wrong = targetProblem(url, webhookAllowPrivate);
  if (wrong !== null) yield problem('url', wrong);
}

/** The range that IANA assigns for use on the Internet. The rest of IPv6 is reserved. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** Ranges whose last 32 bits are an IPv4 address: `::ffff:a.b.c.d`, and `64:ff9b::a.b.c.d` (RFC 6052). */
const EMBEDS_IPV4: readonly (readonly [ipaddr.IPv6, number])[] = [
  ipaddr.IPv6.parseCIDR('::ffff:0:0/96'),
  ipaddr.IPv6.parseCIDR('64:ff9b::/96'),
];

/**
 * Public unicast addresses at which hosting platforms serve their own machines: agents, metadata, internal APIs. They are routed only inside
 * the platform, so no webhook receiver uses them. Sources: docs/security.md, "Addresses of hosting platforms".
 */
const PLATFORM_IPV4 = [
  '161.26.0.0/16',
  '166.8.0.0/14',
  '168.63.129.16/32',
  '192.80.8.124/32',
  '199.36.153.4/30',
  '199.36.153.8/30',
].map((network) => ipaddr.IPv4.parseCIDR(network));
const PLATFORM_IPV6 = ['2600:2d00:2:1000::/56', '2600:2d00:2:2000::/56'].map((network) =>
  ipaddr.IPv6.parseCIDR(network),
);

/** Interface identifier of ISATAP (RFC 5214), which precedes the IPv4 address, with or without the "universal" bit. */
const ISATAP = [0x0000, 0x0200];
const ISATAP_NEXT = 0x5efe;

/**
 * Whether an IP address is a public unicast address that a webhook receiver may have. False for text that is not an address, for special ranges
 * (private, loopback, link-local, shared, documentation, multicast, 6to4, Teredo and the rest of IANA's registries), and for addresses of
 * hosting platforms. An address that embeds an IPv4 address is as public as that one. Check the address in a URL, and again the address of
 * each new connection, because a name may resolve to another address by then.
 */
export function isPublicAddress(address: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return isPublicIPv4(ipaddr.IPv4.parse(address));
  if (!ipaddr.IPv6.isValid(address)) return false;
  const ipv6 = ipaddr.IPv6.parse(address);
  if (EMBEDS_IPV4.some(([network, bits]) => ipv6.match(network, bits))) return isPublicIPv4(lastIPv4(ipv6));
  const [, , , , high, low] = ipv6.parts as [number, number, number, number, number, number];
  if (ISATAP.includes(high) && low === ISATAP_NEXT && !isPublicIPv4(lastIPv4(ipv6))) return false;
  const isGlobal = ipv6.range() === 'unicast' && ipv6.match(...GLOBAL_UNICAST);
  return isGlobal && !PLATFORM_IPV6.some(([network, bits]) => ipv6.match(network, bits));
}

const lastIPv4 = (address: ipaddr.IPv6): ipaddr.IPv4 => new ipaddr.IPv4(address.toByteArray().slice(-4));

const isPublicIPv4 = (address: ipaddr.IPv4): boolean =>
  address.range() === 'unicast' && !PLATFORM_IPV4.some(([network, bits]) => address.match(network, bits));

/**
 * Ports of services that execute commands from anybody or forward mail. A webhook request to them is useless at best. Includes common ports
 * that browsers block for the same reason (Fetch standard, "bad port"), and those of databases.
 */
const REFUSED_PORTS: ReadonlySet<number> = new Set([
  // File transfer, shells, mail, names, time
  20, 21, 22, 23, 25, 53, 69, 110, 123, 135, 137, 139, 143, 161, 179, 389, 445, 465, 514, 587, 636, 993, 995,
  // Databases, queues and caches
  1433, 1521, 2049, 2181, 3306, 3389, 5432, 5433, 5672, 5984, 6379, 6380, 6432, 7000, 7001, 9042, 9092, 9200, 9300,
  11_211, 15_672, 26_379, 27_017, 27_018, 27_019, 28_017, 50_000,
  // Container runtimes and orchestration
  2375, 2376, 2377, 2379, 2380, 6443, 10_250, 10_255,
]);

/** Labels of letters, digits and hyphens; not an address in an unusual notation. */
const HOST_NAME = /^(?:[a-z\d_](?:[a-z\d_-]{0,61}[a-z\d])?\.)*(?!\d+\.?$)[a-z\d_](?:[a-z\d_-]{0,61}[a-z\d])?\.?$/i;

/** Suffixes of names for machines in the operator's or the provider's network. */
const INTERNAL_NAME = /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home|corp|private|home\.arpa)$/;

/** Why webhooks may not use a URL, as text that follows "url"; `null` if they may. */
export function targetProblem(url: URL, privateTargets: boolean): string | null {
  if (!['http:', 'https:'].includes(url.protocol)) return 'must be a URL that begins with http:// or https://';
  if (url.username !== '' || url.password !== '')
    return 'must not contain a user name or password: the signature identifies the sender';
  if (url.hash !== '') return 'must not have a fragment (#…): it would not be sent';
  if (REFUSED_PORTS.has(Number(url.port)))
    return `must not name port ${url.port}: it belongs to another kind of service`;
  if (privateTargets) return null;
  return privateHostProblem(url.hostname.replace(/^\[(.*)\]$/, '$1'));
}

/** Why nothing may be sent to a host unless private targets are allowed; `null` if it may be public. */
function privateHostProblem(host: string): string | null {
  if (isIP(host) !== 0 && !isPublicAddress(host))
    return 'must not be a private, loopback, link-local or hosting platform address (WEBHOOK_ALLOW_PRIVATE=1 allows it)';
  if (isIP(host) === 0 && isInternalName(host))
    return 'must not be a name of an internal network (WEBHOOK_ALLOW_PRIVATE=1 allows it)';
  return null;
}

/** Ports at which mail servers accept e-mails. */
const MAIL_PORTS: ReadonlySet<number> = new Set([25, 465, 587]);

/** Why e-mails may not be handed to a server, with the field; `null` if they may. */
export function mailServerProblem(host: string, port: number, privateTargets: boolean): Problem | null {
  if (isIP(host) === 0 && !HOST_NAME.test(host)) return problem('host', 'must be a host name or an IP address');
  if (privateTargets) return null;
  if (REFUSED_PORTS.has(port) && !MAIL_PORTS.has(port))
    return problem('port', `must not be ${port}: it belongs to another kind of service`);
  const wrong = privateHostProblem(host);
  return wrong === null ? null : problem('host', wrong);
}

/** Whether a name has no dot, so that the operator's own network resolves it: `redis`, `postgres`, `instance-data`. */
function isInternalName(host: string): boolean {
  const name = host.replace(/\.$/, '');
  return !name.includes('.') || INTERNAL_NAME.test(name);
}

/** Whether a webhook's filter admits a type: about a subject or, without one, any notification of the type. */
export const isWanted = (webhook: Webhook, type: NotificationType, about?: NotificationSubject): boolean =>
  webhook.enabled && webhook.events.includes(type) && (about === undefined || passes(webhook, about));

function passes({ filter }: Webhook, about: NotificationSubject): boolean {
  const among = (ids: string[] | undefined, id: string | undefined): boolean =>
    ids === undefined || id === undefined || ids.includes(id);
  return (
    among(filter?.metricIds, about.metricId) &&
    among(filter?.leaderboardIds, about.leaderboardId) &&
    among(filter?.pointsSystemIds, about.pointsSystemId)
  );
}
