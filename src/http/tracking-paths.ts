import type { SeenMessages } from '../engine/messages/seen-messages.ts';
import { CLICK_PATH, OPEN_PATH, type TrackingLinks } from '../engine/messages/tracking-links.ts';
import type { ExchangeContext } from './exchange-context.ts';
import type { Handler, Paths } from './paths.ts';
import type { Response } from './respond.ts';
import { invalidLink, languageOf, PAGE_HEADERS } from './unsubscribe-page.ts';
import type { HttpRequest } from './uws.ts';
import { Visit } from './visit.ts';

/** A transparent GIF of one pixel. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

const PICTURE: Response = { status: 200, json: '', bytes: PIXEL, contentType: 'image/gif', headers: PAGE_HEADERS };

const redirect = (url: string): Response => ({
  status: 302,
  json: '',
  contentType: 'text/plain',
  headers: { ...PAGE_HEADERS, Location: url },
});

/** A browser that only prepares for a possible click says so. */
const isPrefetch = (req: HttpRequest): boolean =>
  /prefetch|preview|prerender/i.test(`${req.getHeader('sec-purpose')} ${req.getHeader('purpose')}`);

/**
 * Serves the links and pictures of tracked e-mails. Their tokens contain everything the answers need: they read neither Redis nor
 * Postgres, and a forged one is 404. `HEAD` and prefetching record nothing.
 */
export function addTrackingPaths(
  paths: Paths,
  options: {
    context: ExchangeContext;
    tracking: TrackingLinks;
    seenMessages: Pick<SeenMessages, 'note'>;
    wrap: (handler: Handler) => Handler;
  },
): void {
  const { context, tracking, seenMessages, wrap } = options;
  const add = (path: string, operation: string, answered: (token: string, isRead: boolean) => Response | null): void =>
    paths.add(`${path}/{token}`, 'get', (headOnly) =>
      wrap((res, req) => {
        const isRead = !headOnly && !isPrefetch(req);
        const language = languageOf(req);
        new Visit(context, res, { headOnly, operation }).begin(
          req,
          (token) => answered(token, isRead) ?? invalidLink(language),
        );
      }),
    );
  add(CLICK_PATH, 'clicked', (token, isRead) => {
    const link = tracking.readClick(token);
    if (link === null) return null;
    if (isRead) seenMessages.note('clicked', link);
    return redirect(link.url);
  });
  add(OPEN_PATH, 'opened', (token, isRead) => {
    const message = tracking.readOpen(token);
    if (message === null) return null;
    if (isRead) seenMessages.note('opened', message);
    return PICTURE;
  });
}
