// oxlint-disable-next-line no-restricted-imports -- a rule of plain text that the API checks, too
import { signatureHeaderProblem } from '../../../src/domain/notifications/webhook.ts';
import { Shell } from '../ui/parts.tsx';

const USUAL = 'X-Laurel-Signature';

/** Code with which a receiver checks the simple signature in the webhook's header. */
export function SignatureSnippet({ header }: { header: unknown }) {
  const isUsable = typeof header === 'string' && header !== '' && signatureHeaderProblem(header) === null;
  const name = (isUsable ? header : USUAL).toLowerCase();
  return (
    <details className="mt-2">
      <summary className="cursor-pointer text-accent">How to verify a message</summary>
      <div className="mt-2 flex flex-col gap-2">
        <Shell>{`import { createHmac, timingSafeEqual } from 'node:crypto';

export function isValid(secret, body, headers) {
  const expected = createHmac('sha256', secret).update(body).digest();
  return ['${name}', '${name}-previous'].some((name) => {
    const sent = Buffer.from(headers[name] ?? '', 'base64');
    return sent.length === expected.length && timingSafeEqual(sent, expected);
  });
}`}</Shell>
        <p className="text-xs text-muted">
          <code>body</code> is the raw text of the request. Messages are also signed as Standard Webhooks describe, in
          the header webhook-signature, which the field does not rename.
        </p>
      </div>
    </details>
  );
}
