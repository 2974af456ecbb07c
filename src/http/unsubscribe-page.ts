import type { Unsubscribing } from '../engine/messages/unsubscribe.ts';
import { invalidLinkPage, preferredLanguage } from '../engine/messages/unsubscribe-pages.ts';
import { UNSUBSCRIBE_PATH } from '../engine/messages/prepare-email.ts';
import { AppError } from '../errors.ts';
import type { ExchangeContext } from './exchange-context.ts';
import type { Handler, Paths } from './paths.ts';
import type { Response } from './respond.ts';
import type { HttpRequest } from './uws.ts';
import { Visit } from './visit.ts';

/** The page loads nothing, runs nothing and cannot be framed; its form leads to the page itself. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
};

const htmlResponse = (status: number, html: string): Response => ({
  status,
  json: html,
  contentType: 'text/html; charset=utf-8',
  headers: PAGE_HEADERS,
});

/** The language that the browser of a request prefers. Read it before anything is awaited: the request is gone then. */
export const languageOf = (req: HttpRequest): string => preferredLanguage(req.getHeader('accept-language'));

/** The answer to a link that nobody signed. */
export const invalidLink = (language: string): Response => htmlResponse(404, invalidLinkPage(language));

/**
 * Serves the page of the links in e-mails, without a login. GET changes nothing, since mail scanners follow links: it shows a button. POST
 * unsubscribes, from the button or from a mail program (RFC 8058).
 */
export function addUnsubscribePage(
  paths: Paths,
  options: { context: ExchangeContext; unsubscribing: Unsubscribing; wrap: (handler: Handler) => Handler },
): void {
  const { context, unsubscribing, wrap } = options;
  const add = (method: 'get' | 'post', answered: (token: string, language: string) => Promise<string | null>): void =>
    paths.add(`${UNSUBSCRIBE_PATH}/{token}`, method, (headOnly) =>
      wrap((res, req) => {
        const language = languageOf(req);
        new Visit(context, res, { headOnly, operation: 'unsubscribe' }).begin(req, async (token) => {
          const html = await answered(token, language);
          return html === null ? invalidLink(language) : htmlResponse(200, html);
        });
      }),
    );
  add('get', async (token, language) => (await unsubscribing.page(token, language))?.question ?? null);
  add('post', async (token, language) => {
    const link = unsubscribing.read(token);
    if (link === null) return null;
    if (!context.isReady(link.tenantNo)) throw new AppError('unavailable', 'Try again in a few minutes');
    await unsubscribing.unsubscribe(token);
    return (await unsubscribing.page(token, language))?.done ?? null;
  });
}
