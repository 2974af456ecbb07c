import { networkOf } from './client-address.ts';
import type { ExchangeContext } from './exchange-context.ts';
import type { Page, PageFile } from './pages.ts';
import type { Handler, Paths } from './paths.ts';
import { readHead } from './request-head.ts';
import { requestIdOf } from './request-id.ts';
import { errorResponse, write } from './respond.ts';
import { fileRequest, sendFile } from './send-file.ts';

/** Headers of every file of a page: other sites cannot frame it, and get no referrer. */
const HEADERS: Readonly<Record<string, string>> = {
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

const fileHandler =
  (context: ExchangeContext, { file, policy }: { file: PageFile; policy: string }) =>
  (headOnly: boolean): Handler =>
  (res, req) => {
    const { requestId: sentId, forwardedFor } = readHead(req);
    const requestId = requestIdOf(sentId);
    const refused = context.fileLimit?.(networkOf(res, { forwardedFor, trusted: context.trustedProxies })) ?? null;
    if (refused !== null) {
      context.requests.refused(refused);
      return write(res, errorResponse(refused), { head: headOnly, close: context.draining, requestId, cors: null });
    }
    res.onAborted(() => undefined);
    const headers = { 'X-Request-Id': requestId, ...HEADERS, 'Content-Security-Policy': policy };
    sendFile(res, file, { request: fileRequest(req, headOnly), headers, closes: context.draining });
  };

/**
 * Registers a page's files by name, and nothing else of the file system. A missing file is not answered with the document, so that a browser with an
 * old document notices that it must load the new one.
 */
export function addPage(
  paths: Paths,
  {
    page: { at, document, assets, views, policy },
    context,
    wrap,
    notFound,
  }: { page: Page; context: ExchangeContext; wrap: (handler: Handler) => Handler; notFound: Handler },
): void {
  const add = (path: string, file: PageFile): void => {
    const handler = fileHandler(context, { file, policy });
    paths.add(path, 'get', (headOnly) => wrap(handler(headOnly)));
  };
  add(at, document);
  for (const asset of assets) add(asset.path, asset);
  if (!views) return;
  paths.add(`${at}/assets/*`, 'get', () => notFound);
  add(`${at}/*`, document);
}
