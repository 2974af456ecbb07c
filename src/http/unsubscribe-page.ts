import { escapeHtml } from '../domain/notifications/message-html.ts';
import type { MessageKind } from '../domain/notifications/message-variables.ts';
import type { Unsubscribing } from '../engine/messages/unsubscribe.ts';
import { UNSUBSCRIBE_PATH } from '../engine/messages/prepare-email.ts';
import { AppError } from '../errors.ts';
import type { ExchangeContext } from './exchange-context.ts';
import type { Handler, Paths } from './paths.ts';
import type { Response } from './respond.ts';
import { Visit } from './visit.ts';

/** The page loads nothing, runs nothing and cannot be framed; its form leads to the page itself. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
};

const KINDS: Readonly<Record<MessageKind, string>> = {
  streak_reminder: 'reminders about your streak',
  achievement_completed: 'e-mails about achievements',
  reactivation: 'e-mails after you have been away',
  recap: 'e-mails with your recap',
};

const page = (status: number, title: string, body: string): Response => ({
  status,
  json: `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title></head>
<body><h1>${title}</h1>${body}</body>
</html>
`,
  contentType: 'text/html; charset=utf-8',
  headers: PAGE_HEADERS,
});

export const INVALID_LINK = page(404, 'This link is not valid', '<p>Open the link again from the e-mail, in full.</p>');

/**
 * Serves the page of the links in e-mails, without a login. GET changes nothing, since mail scanners follow links: it shows a button. POST
 * unsubscribes, from the button or from a mail program (RFC 8058).
 */
export function addUnsubscribePage(
  paths: Paths,
  {
    context,
    unsubscribing,
    appName,
    wrap,
  }: {
    context: ExchangeContext;
    unsubscribing: Unsubscribing;
    appName: () => string;
    wrap: (handler: Handler) => Handler;
  },
): void {
  const question = ({ kind }: { kind: MessageKind }): Response =>
    page(
      200,
      'Unsubscribe',
      `<p>${escapeHtml(appName())}: do you no longer want ${KINDS[kind]}?</p>` +
        '<form method="post"><button type="submit" name="List-Unsubscribe" value="One-Click">Unsubscribe</button></form>',
    );
  const done = ({ kind }: { kind: MessageKind }): Response =>
    page(200, 'You are unsubscribed', `<p>${escapeHtml(appName())} no longer sends you ${KINDS[kind]}.</p>`);

  const answer = (answered: (token: string) => Promise<Response> | Response) => (headOnly: boolean) =>
    wrap((res, req) => new Visit(context, res, { headOnly, operation: 'unsubscribe' }).begin(req, answered));
  paths.add(
    `${UNSUBSCRIBE_PATH}/{token}`,
    'get',
    answer((token) => {
      const link = unsubscribing.read(token);
      return link === null ? INVALID_LINK : question(link);
    }),
  );
  paths.add(
    `${UNSUBSCRIBE_PATH}/{token}`,
    'post',
    answer(async (token) => {
      const link = unsubscribing.read(token);
      if (link === null) return INVALID_LINK;
      if (!context.isReady(link.tenantNo)) throw new AppError('unavailable', 'Try again in a few minutes');
      await unsubscribing.unsubscribe(token);
      return done(link);
    }),
  );
}
