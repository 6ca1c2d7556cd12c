import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** How wide an element is, also after the window was turned or resized; zero before it is there. */
export function useWidth(): [place: RefObject<HTMLDivElement>, width: number] {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = place.current as HTMLDivElement;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [place, width];
}
