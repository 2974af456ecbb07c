import { useLiveMessage } from 'laurel-client/react';
import { useEffect, useState } from 'react';

interface Toast {
  /** ID of the message. */
  id: string;
  name: string;
  description: string | null;
}

const SHOWN_MS = 8_000;

/** Shows each completed achievement for some seconds, longer while the pointer or the focus is on it. */
export function AchievementToasts() {
  const [toasts, setToasts] = useState<Toast[]>([]);
  useLiveMessage('achievement.completed', ({ id, achievement: { name, description } }) =>
    setToasts((all) => [...all, { id, name, description }]),
  );
  const close = (id: string) => setToasts((all) => all.filter((one) => one.id !== id));
  return (
    // It exists before its first toast: a screen reader announces only changes.
    <div className="toasts" role="status" aria-label="Achievements">
      {toasts.map((toast) => (
        <AchievementToast key={toast.id} toast={toast} onClose={() => close(toast.id)} />
      ))}
    </div>
  );
}

function AchievementToast({ toast, onClose }: { toast: Toast; onClose: () => void }) {
  const [isHeld, setIsHeld] = useState(false);
  useEffect(() => {
    if (isHeld) return undefined;
    const timer = setTimeout(onClose, SHOWN_MS);
    return () => clearTimeout(timer);
    // `onClose` is another function at each rendering, which does not make the time begin again.
  }, [isHeld]);
  return (
    <div
      className="toast"
      onPointerEnter={() => setIsHeld(true)}
      onPointerLeave={() => setIsHeld(false)}
      onFocus={() => setIsHeld(true)}
      onBlur={() => setIsHeld(false)}
      onKeyDown={({ key }) => key === 'Escape' && onClose()}
    >
      <span aria-hidden="true">★</span>
      <p>
        <strong>{toast.name}</strong>
        {toast.description}
      </p>
      <button type="button" className="quiet" aria-label={`Close ${toast.name}`} onClick={onClose}>
        ✕
      </button>
    </div>
  );
}
