import type { ExchangeContext } from './exchange-context.ts';
import type { Page, PageFile } from './pages.ts';
import type { Handler, Paths } from './paths.ts';
import { requestIdOf } from './request-id.ts';

/** What every file of a page is sent with: it is what it says it is, no other site frames it, and none learns of it. */
const HEADERS: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** The smallest form that the browser takes. */
function encoded(file: PageFile, accepted: string): { body: Buffer; encoding: string | null } {
  if (file.brotli !== null && /\bbr\b/.test(accepted)) return { body: file.brotli, encoding: 'br' };
  if (file.gzip !== null && /\bgzip\b/.test(accepted)) return { body: file.gzip, encoding: 'gzip' };
  return { body: file.body, encoding: null };
}

const fileHandler =
  (context: ExchangeContext, { file, policy }: { file: PageFile; policy: string }) =>
  (headOnly: boolean): Handler =>
  (res, req) => {
    const { body, encoding } = encoded(file, req.getHeader('accept-encoding'));
    res.cork(() => {
      res.writeHeader('X-Request-Id', requestIdOf(req.getHeader('x-request-id')));
      res.writeHeader('Content-Type', file.contentType);
      res.writeHeader('Cache-Control', file.immutable ? 'public, max-age=31536000, immutable' : 'no-store');
      res.writeHeader('Vary', 'Accept-Encoding');
      if (encoding !== null) res.writeHeader('Content-Encoding', encoding);
      for (const name in HEADERS) res.writeHeader(name, HEADERS[name]!);
      res.writeHeader('Content-Security-Policy', policy);
      if (!headOnly) return res.end(body, context.draining);
      if (context.draining) res.writeHeader('Connection', 'close');
      res.writeHeader('Content-Length', String(body.length));
      return res.endWithoutBody();
    });
  };

/**
 * Adds a page's paths: each of its files by name, and nothing else of the file system. A file that is not there is not answered
 * with the document, so that a browser with an older document sees that it must load the newer one.
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
