import { escapeHtml } from '../domain/notifications/message-html.ts';
import type { MessageKind } from '../domain/notifications/message-variables.ts';
import type { Unsubscribing } from '../engine/messages/unsubscribe.ts';
import { UNSUBSCRIBE_PATH } from '../engine/messages/prepare-email.ts';
import { AppError } from '../errors.ts';
import { networkOf } from './client-address.ts';
import type { ExchangeContext } from './exchange-context.ts';
import type { Handler, Paths } from './paths.ts';
import { readHead, requestIdOf } from './request-head.ts';
import { errorResponse, failureResponse, type Response, write } from './respond.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

/** The page loads nothing, runs nothing and cannot be framed; its form leads to the page itself. */
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
};

/** A mail program sends one field. The content does not matter. */
const BODY_BYTES = 8_192;

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
  headers: HEADERS,
});

const INVALID = page(404, 'This link is not valid', '<p>Open the link again from the e-mail, in full.</p>');

/**
 * Serves the page of the links in e-mails, without a login. GET changes nothing, since mail scanners follow links: it shows a button. POST
 * unsubscribes, from the button or from a mail program (RFC 8058). Requests are limited by address like those for files.
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
    wrap((res, req) => new Visit(context, res, headOnly).begin(req, answered));
  paths.add(
    `${UNSUBSCRIBE_PATH}/{token}`,
    'get',
    answer((token) => {
      const link = unsubscribing.read(token);
      return link === null ? INVALID : question(link);
    }),
  );
  paths.add(
    `${UNSUBSCRIBE_PATH}/{token}`,
    'post',
    answer(async (token) => {
      const link = unsubscribing.read(token);
      if (link === null) return INVALID;
      if (!context.isReady(link.tenantNo)) throw new AppError('unavailable', 'Try again in a few minutes');
      await unsubscribing.unsubscribe(token);
      return done(link);
    }),
  );
}

/** A request of the page. */
class Visit {
  private readonly context: ExchangeContext;
  private readonly res: HttpResponse;
  private readonly headOnly: boolean;
  private requestId = '';
  private aborted = false;

  constructor(context: ExchangeContext, res: HttpResponse, headOnly: boolean) {
    this.context = context;
    this.res = res;
    this.headOnly = headOnly;
  }

  /** Answers after the body has arrived, if there is one. */
  begin(req: HttpRequest, answered: (token: string) => Promise<Response> | Response): void {
    const { context, res } = this;
    const { requestId: sentId, forwardedFor } = readHead(req);
    this.requestId = requestIdOf(sentId);
    const token = req.getParameter(0) ?? '';
    const isPost = req.getMethod() === 'post';
    res.onAborted(() => void (this.aborted = true));
    const refused = context.fileLimit?.(networkOf(res, forwardedFor, context.trustedProxies)) ?? null;
    if (refused !== null) return this.refuse(refused);
    if (!isPost) return void this.answer(token, answered);
    let received = 0;
    let isRefused = false;
    res.onData((chunk, isLast) => {
      received += chunk.byteLength;
      if (isRefused) return;
      if (received > BODY_BYTES) {
        isRefused = true;
        this.refuse(new AppError('payload_too_large', `The body may have at most ${BODY_BYTES} bytes`), true);
      } else if (isLast) void this.answer(token, answered);
    });
  }

  private async answer(token: string, answered: (token: string) => Promise<Response> | Response): Promise<void> {
    const { context, requestId } = this;
    context.begun();
    try {
      this.write(await answered(token));
    } catch (error) {
      this.write(failureResponse(error, context, { operation: 'unsubscribe', requestId }));
    } finally {
      context.ended();
    }
  }

  private refuse(error: AppError, close = false): void {
    this.context.requests.refused(error);
    this.write(errorResponse(error), close);
  }

  private write(response: Response, close = this.context.draining): void {
    if (this.aborted) return;
    write(this.res, response, { head: this.headOnly, close, requestId: this.requestId, cors: null });
  }
}
