import type { HttpResponse } from './uws.ts';

const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/**
 * The peer's address in its short form; IPv4 addresses in IPv4 notation. `null` if the socket reports none. `res` must not be aborted. Costs a
 * microsecond or two, so it is for recorded requests, not for every event.
 */
export function remoteAddress(res: HttpResponse): string | null {
  const text = Buffer.from(res.getRemoteAddressAsText()).toString('latin1');
  if (!text.includes(':')) return text === '' ? null : text;
  const address = `http://[${text}]`;
  if (!URL.canParse(address)) return null;
  const short = new URL(address).hostname.slice(1, -1);
  const mapped = MAPPED.exec(short);
  if (mapped === null) return short;
  const [high, low] = [parseInt(mapped[1]!, 16), parseInt(mapped[2]!, 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
