import { isIP } from 'node:net';
import { isPublicAddress } from './public-address.ts';

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

/** Suffixes of names for machines in the operator's or the provider's network. */
const INTERNAL_NAME = /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home|corp|private|home\.arpa)$/;

/**
 * The canonical form of a URL, in which it is stored, checked and used: lower-case ASCII host name, numeric addresses in their usual form
 * (`http://0x7f.1` becomes `http://127.0.0.1/`), no default port. `null` if the text is not a URL.
 */
export const canonicalUrl = (text: string): string | null => (URL.canParse(text) ? new URL(text).href : null);

/** Why webhooks may not use a URL, as text that follows "url"; `null` if they may. */
export function targetProblem(url: URL, { privateTargets }: { privateTargets: boolean }): string | null {
  if (!['http:', 'https:'].includes(url.protocol)) return 'must be a URL that begins with http:// or https://';
  if (url.username !== '' || url.password !== '')
    return 'must not hold a user name or password: the signature says who sends';
  if (url.hash !== '') return 'must not have a fragment (#…): it would not be sent';
  if (REFUSED_PORTS.has(Number(url.port))) return `must not name port ${url.port}: no web server listens there`;
  if (privateTargets) return null;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) !== 0 && !isPublicAddress(host))
    return 'must not be a private, loopback, link-local or hosting platform address (WEBHOOK_ALLOW_PRIVATE=1 allows it)';
  if (isIP(host) === 0 && isInternalName(host))
    return 'must not be a name of an internal network (WEBHOOK_ALLOW_PRIVATE=1 allows it)';
  return null;
}

/** Whether a name has no dot, so that the operator's own network resolves it: `redis`, `postgres`, `instance-data`. */
function isInternalName(host: string): boolean {
  const name = host.replace(/\.$/, '');
  return !name.includes('.') || INTERNAL_NAME.test(name);
}
