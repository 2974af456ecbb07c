import type { PushPreview } from './queries.ts';
import { brandOf, type Look } from './starters.ts';

/** A push notification on the lock screen of a phone. The phone looks the same in all themes. */
export function PhoneShown({ of: { title, body, url }, look }: { of: PushPreview; look: Look }) {
  const { name, colour, ink } = brandOf(look);
  return (
    <>
      <figure
        aria-label="The notification on a phone"
        className="mx-auto flex w-full max-w-[22.5rem] flex-col gap-4 rounded-[2rem] border-4 border-[#1f2937] bg-[linear-gradient(160deg,#475569,#1e293b)] px-3 pt-8 pb-14 text-white"
      >
        <p className="text-center" aria-hidden>
          <span className="block text-5xl leading-tight font-semibold">9:41</span>
        </p>
        <div className="flex items-start gap-2.5 rounded-2xl bg-[#f8fafc] p-3 text-[#0f172a] shadow-lg">
          <span
            aria-hidden
            className="flex size-9 shrink-0 items-center justify-center rounded-lg font-semibold"
            style={{ backgroundColor: colour, color: ink }}
          >
            {name.charAt(0).toUpperCase()}
          </span>
          <div className="min-w-0 grow">
            <p className="flex justify-between gap-2 text-xs text-[#475569]">
              <span className="truncate">{name}</span>
              <span className="shrink-0">now</span>
            </p>
            <p className="font-semibold break-words">{title}</p>
            <p className="line-clamp-4 break-words whitespace-pre-line">{body}</p>
          </div>
        </div>
      </figure>
      <p className="break-words">
        <span className="text-muted">A tap opens: </span>
        {url === null ? 'the app' : <code className="font-mono text-xs break-all">{url}</code>}
      </p>
    </>
  );
}
