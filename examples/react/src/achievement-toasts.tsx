import { useLiveMessage } from 'laurel-client/react';
import { useCallback, useEffect, useState } from 'react';

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
  const close = useCallback((id: string) => setToasts((all) => all.filter((one) => one.id !== id)), []);
  return (
    // It exists before its first toast: a screen reader announces only changes.
    <div className="toasts" role="status" aria-label="Achievements">
      {toasts.map((toast) => (
        <AchievementToast key={toast.id} toast={toast} onClose={close} />
      ))}
    </div>
  );
}

function AchievementToast({ toast, onClose }: { toast: Toast; onClose: (id: string) => void }) {
  const { id, name, description } = toast;
  const [isHeld, setIsHeld] = useState(false);
  useEffect(() => {
    if (isHeld) return undefined;
    const timer = setTimeout(() => onClose(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isHeld, id, onClose]);
  return (
    <div className="toast" onPointerEnter={() => setIsHeld(true)} onPointerLeave={() => setIsHeld(false)}>
      <span aria-hidden="true">★</span>
      <p>
        <strong>{name}</strong>
        {description}
      </p>
      <button
        type="button"
        className="quiet"
        aria-label={`Close ${name}`}
        onClick={() => onClose(id)}
        onKeyDown={({ key }) => key === 'Escape' && onClose(id)}
        onFocus={() => setIsHeld(true)}
        onBlur={() => setIsHeld(false)}
      >
        ✕
      </button>
    </div>
  );
}
