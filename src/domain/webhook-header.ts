/** A header's name (RFC 9110, token). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;
/** Names that HTTP, a proxy or Laurel gives another meaning; `x-laurel-signature` is what the header is called anyway. */
const TAKEN_HEADER =
  /^(?:accept(?:-.*)?|age|allow|alt-svc|authorization|cache-control|connection|content-.*|cookie2?|date|expect|expires|forwarded|from|host|http2-settings|if-.*|keep-alive|max-forwards|origin|pragma|priority|proxy-.*|range|referer|sec-.*|server|set-cookie2?|te|trailer|transfer-encoding|upgrade|user-agent|via|warning|webhook-.*|x-forwarded-.*|x-real-ip)$/i;

/** What is wrong with a name for the header of the simple signature; `null` if it may be used. The console asks this, too. */
export function signatureHeaderProblem(name: string): string | null {
  if (!TOKEN.test(name)) return "must be the name of an HTTP header: at most 64 letters, digits and !#$%&'*+-.^_`|~";
  return TAKEN_HEADER.test(name) ? `'${name}' has another meaning: take one of your own` : null;
}
