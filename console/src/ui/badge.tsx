import { Award } from 'lucide-react';
import { useState } from 'react';

/** URLs that the content security policy allows. */
const SHOWABLE = /^(?:https:\/\/|data:image\/)/i;

/**
 * A badge as a picture, or a placeholder if there is none, it cannot be loaded, or its URL is plain http. Decorates the name
 * beside it. Sends no referrer to the server of the picture.
 */
export function Badge({ url, dim = false }: { url: string | null | undefined; dim?: boolean }) {
  const [broken, setBroken] = useState<string | null>(null);
  const look = `size-6 shrink-0 rounded ${dim ? 'opacity-40 grayscale' : ''}`;
  if (!url || !SHOWABLE.test(url) || url === broken)
    return (
      <span className={`${look} inline-grid place-items-center bg-hover text-muted`} data-badge="none" aria-hidden>
        <Award size={14} />
      </span>
    );
  return (
    <img
      src={url}
      alt=""
      loading="lazy"
      decoding="async"
      referrerPolicy="no-referrer"
      className={`${look} object-contain`}
      onError={() => setBroken(url)}
    />
  );
}

/** A name with its badge, in a table. */
export const BadgedName = ({ name, badge }: { name: string; badge: { url?: string } | null | undefined }) => (
  <span className="flex items-center gap-2">
    <Badge url={badge?.url} />
    <span className="truncate font-medium">{name}</span>
  </span>
);
